/**
 * Loaded before a server (`node --import`), it lets each write wait until the one before is durable, so that every write
 * has a commit and an fsync of its own. All else is the same program: what group commit brings is the difference.
 */
import { SqliteStore } from '../../src/store/sqlite/store.ts'

type Write = (...given: unknown[]) => Promise<unknown>

let last: Promise<unknown> = Promise.resolve()

for (const name of ['create', 'update', 'delete'] as const) {
  const write = SqliteStore.prototype[name] as Write
  const alone: Write = function (this: SqliteStore, ...given) {
    const written = last.then(() => write.apply(this, given))
    last = written.catch(() => undefined)
    return written
  }
  Object.assign(SqliteStore.prototype, { [name]: alone })
}
