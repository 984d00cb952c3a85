/** Opens what a primary needs of the store: the records that the writes of its workers leave. */
import type { Config } from '../../config.ts'
import type { Outbox } from '../../store/contract.ts'
import { openDatabaseBeside } from '../../store/open.ts'

/** The database must be there. Throws StoreUnavailable or UnfitDatabase. */
export async function openOutbox({
  database,
}: Config): Promise<{ readonly outbox: Outbox; readonly close: () => Promise<void> }> {
  const resources = { byName: new Map(), routes: [] }
  const { store, outbox } = await openDatabaseBeside(database, { resources, now: () => new Date() })
  return { outbox, close: () => store.close() }
}
