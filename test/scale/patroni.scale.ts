/** A PostgreSQL that fails over by itself, under Patroni with a synchronous replica. */
import { expect } from 'chai'
import { failOver } from './fail-over.ts'
import { withstand } from './withstand.ts'

const TIMES = 10
const WITHIN_MS = 5000

describe('three instances on three nodes of Patroni', function () {
  this.timeout(900_000)

  it('keep every promise while the primary is lost or hangs ten times, and write soon after each failover', async () => {
    await withstand({
      name: 'the primary of Patroni is lost or hangs, ten times',
      patroni: true,
      happen: async (cluster, history) => {
        const waits = await failOver(cluster, history, TIMES)
        process.stdout.write(`ms until all instances write at the new primary: ${waits.map(Math.round).join(', ')}\n`)
        // One of them may fall into a moment at which the machine does something else.
        expect(waits.toSorted((a, b) => a - b)[TIMES / 2]).to.be.below(WITHIN_MS)
      },
    })
  })
})
