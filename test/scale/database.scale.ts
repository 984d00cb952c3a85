/** A PostgreSQL that is killed, replaced by its replica, or behind a network that fails. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { verdictAfter, withstand } from './withstand.ts'

describe('the database of three instances', function () {
  this.timeout(600_000)

  it('is killed and started again', async () => {
    await withstand({
      name: 'PostgreSQL is killed, and started again after 2 s',
      happen: async ({ primary }) => {
        await primary.kill()
        await sleep(2000)
        await primary.start()
      },
    })
  })

  it('is lost, and its replica is promoted', async () => {
    await withstand({
      name: 'PostgreSQL is lost, and the replica is promoted after 1 s',
      happen: async (cluster) => {
        await cluster.primary.kill()
        await sleep(1000)
        await cluster.promote()
      },
    })
  })

  it('would lose acknowledged writes if commits did not wait for the replica', async () => {
    const { lost } = await verdictAfter({
      databaseSettings: ['synchronous_standby_names='],
      happen: async (cluster) => {
        await cluster.stopReplication()
        await sleep(2000)
        await cluster.primary.kill()
        await cluster.promote()
        await sleep(2000)
      },
    })
    expect(lost.length).to.be.greaterThan(0)
  })

  it('stalls for one instance', async () => {
    await withstand({
      name: 'the connections of one instance stall for 5 s',
      happen: async ({ network }) => {
        network.stall()
        await sleep(5000)
        network.resume()
      },
    })
  })

  it('loses the connections of one instance again and again', async () => {
    await withstand({
      name: 'the connections of one instance are cut 20 times in 3 s',
      happen: async ({ network }) => {
        for (let n = 0; n < 20; n += 1) {
          network.cut()
          await sleep(150)
        }
      },
    })
  })

  it('commits, but one instance does not get the answers', async () => {
    await withstand({
      name: 'one instance gets no answers of PostgreSQL for 3 s',
      happen: async ({ network }) => {
        network.holdAnswers()
        await sleep(3000)
        network.cut()
        network.resume()
      },
    })
  })

  it('is slow for one instance', async () => {
    await withstand({
      name: 'each message of one instance takes 100 ms longer',
      happen: async ({ network }) => {
        network.delay(100)
        await sleep(4000)
        network.delay(0)
      },
    })
  })
})
