/** Counts what the store asks of PostgreSQL. */
import pg from 'pg'

/** The result of the work, and how many statements it sent. */
export async function countedStatements<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const { query } = pg.Client.prototype
  let statements = 0
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    statements += 1
    return Reflect.apply(query, this, given)
  } as typeof query
  try {
    return [await work(), statements]
  } finally {
    pg.Client.prototype.query = query
  }
}
