/** Short form of patroni.scale.ts: the primary of Patroni is lost once, and hangs once. */
import { failOver } from './fail-over.ts'
import { withstand } from './withstand.ts'

describe('three instances on three nodes of Patroni', () => {
  it('keep every promise while the primary is lost and the next one hangs', async () => {
    await withstand({
      name: 'the primary of Patroni is lost or hangs, twice',
      patroni: true,
      calmMs: 300,
      happen: async (cluster, history) => void (await failOver(cluster, history, 2)),
    })
  })
})
