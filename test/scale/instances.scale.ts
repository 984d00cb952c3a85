/** Instances that are killed, replaced, or have another time than the others. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { clocksOf } from './clocks.ts'
import type { Cluster } from './cluster.ts'
import { longestLag, slowestAnswer } from './longest.ts'
import { withstand } from './withstand.ts'

const HOUR = 3600

describe('three instances on one database', function () {
  this.timeout(600_000)

  it('have each version of the policy within a second, while nothing fails', async () => {
    const evidence = await withstand({ name: 'nothing', happen: () => sleep(5000) })
    // An activation needs the event loop and the database several times, and each request needs them too.
    expect(longestLag(evidence)).to.be.below(1000 + 5 * slowestAnswer(evidence.operations))
    expect(hoursOf(evidence)).to.deep.equal([0, 0, 0])
  })

  it('keep every promise when one is killed', async () => {
    await withstand({
      name: 'an instance is killed',
      happen: async ({ instances }) => {
        await instances[0]?.kill()
        await sleep(3000)
        await instances[0]?.start()
      },
    })
  })

  it('keep every promise while each is stopped and started in turn', async () => {
    await withstand({ name: 'a rolling restart', happen: restartEach })
  })

  it('keep every promise while their clocks are an hour apart', async () => {
    const clocks = [0, HOUR, -HOUR]
    const evidence = await withstand({ name: 'clocks an hour apart', clocks, happen: () => sleep(3000) })
    expect(hoursOf(evidence)).to.deep.equal([0, 1, -1])
  })
})

/** By instance, how far its clock is ahead. */
function hoursOf(evidence: Parameters<typeof clocksOf>[0]): readonly number[] {
  const clocks = [...clocksOf(evidence)].toSorted(([a], [b]) => a.localeCompare(b))
  return clocks.map(([, seconds]) => Math.round(seconds / HOUR) + 0)
}

async function restartEach({ instances }: Cluster): Promise<void> {
  for (const instance of instances) {
    await instance.stop()
    await instance.start()
  }
}
