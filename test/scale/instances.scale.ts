/** Instances that are killed, replaced, or have another time than the others. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import { withstand } from './withstand.ts'

describe('three instances on one database', function () {
  this.timeout(180_000)

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
    await withstand({ name: 'clocks an hour apart', clocks: [0, 3600, -3600], happen: () => sleep(3000) })
  })
})

async function restartEach({ instances }: Cluster): Promise<void> {
  for (const instance of instances) {
    await instance.stop()
    await instance.start()
  }
}
