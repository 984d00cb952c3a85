/** Opens the part of the store that a primary needs: the outbox with the records of its workers' writes. */
import type { Config } from '../../config/config.ts'
import type { Outbox } from '../../store/contract.ts'
import { openDatabaseBeside } from '../../store/open.ts'

/** The database must exist. Throws StoreUnavailable or UnfitDatabase. */
export async function openOutbox({
  database,
}: Config): Promise<{ readonly outbox: Outbox; readonly close: () => Promise<void> }> {
  const resources = { byName: new Map(), routes: [] }
  const { store, outbox } = await openDatabaseBeside(database, { resources, now: () => new Date() })
  return { outbox, close: () => store.close() }
}
