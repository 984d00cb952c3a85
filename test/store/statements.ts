/** Watches what the store asks of the engine. */
import { DatabaseSync } from 'node:sqlite'

/** The texts of all statements that are prepared or run while the work is done. */
export async function statementsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const seen: string[] = []
  const { exec, prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (sql) {
    seen.push(sql)
    return exec.call(this, sql)
  }
  DatabaseSync.prototype.prepare = function (sql, ...rest) {
    seen.push(sql)
    return prepare.call(this, sql, ...rest)
  }
  try {
    await work()
    return seen
  } finally {
    Object.assign(DatabaseSync.prototype, { exec, prepare })
  }
}
