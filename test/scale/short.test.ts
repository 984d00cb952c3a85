/** The short form of the scale tests (`npm run test:scale`): the faults that come most often, in one run. */
import { setTimeout as sleep } from 'node:timers/promises'
import { soak } from '../runs.ts'
import { withstand } from './withstand.ts'

const PROMOTED = soak(true, false)

describe('three instances, PostgreSQL with a replica, and Redis', () => {
  it(`keep every promise while an instance is killed, a connection breaks${PROMOTED ? ' and the replica is promoted' : ''}`, async () => {
    await withstand({
      name: 'several faults in one run',
      calmMs: soak(1500, 300),
      happen: async (cluster) => {
        const [, second] = cluster.instances
        await second?.kill()
        cluster.network.cut()
        await second?.start()
        if (PROMOTED) {
          await cluster.primary.kill()
          await cluster.promote()
        }
        await sleep(500)
      },
    })
  })
})
