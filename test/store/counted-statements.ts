/** Counts what the store asks of PostgreSQL. */
import pg from 'pg'

/** The result of the work, and how many statements it sent; `isCounted`: those with such a text alone. */
export async function countedStatements<T>(
  work: () => Promise<T>,
  isCounted: (text: string) => boolean = () => true,
): Promise<readonly [T, number]> {
  const { query } = pg.Client.prototype
  let statements = 0
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [asked] = given
    const text = typeof asked === 'string' ? asked : (asked as { readonly text?: string }).text
    if (isCounted(text ?? '')) statements += 1
    return Reflect.apply(query, this, given)
  } as typeof query
  try {
    return [await work(), statements]
  } finally {
    pg.Client.prototype.query = query
  }
}
