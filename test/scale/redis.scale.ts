/** A Redis that is killed: instances count alone until it is back, and then together again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { withstand } from './withstand.ts'

describe('the Redis of three instances', function () {
  this.timeout(600_000)

  it('is killed and started again', async () => {
    const { redisLost } = await withstand({
      name: 'Redis is killed, and started again after 3 s',
      // The limiter is judged before and after, for more than a window each.
      calmMs: 8000,
      happen: async (cluster) => {
        await cluster.redis.kill()
        await sleep(3000)
        await cluster.restartRedis()
        await sleep(2000)
      },
    })
    expect(redisLost.length).to.be.greaterThan(2)
    expect(redisLost.every(({ to }) => Number.isFinite(to))).to.equal(true)
  })
})
