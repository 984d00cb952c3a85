/**
 * Statements as plain data, and work that asks them. The work is written once, as a generator: SQLite answers each
 * statement at once (sqlite/statements.ts), PostgreSQL later.
 */

export type SqlValue = string | number | boolean | null | Uint8Array | readonly (string | number | null)[]

export type Row = readonly SqlValue[]

export interface Statement {
  /** Its parameters are `$1`, `$2` and so on. */
  readonly text: string
  readonly values: readonly SqlValue[]
  /** The values decide on the best plan, so it is made each time. */
  readonly plannedAnew?: boolean
}

/** Yields a statement, and is given its rows. May run more than once, so whoever wants it done makes it. */
export type Work<T> = Generator<Statement, T, readonly Row[]>

export type Ask = (statement: Statement) => Promise<readonly Row[]>

export function sql(text: string, ...values: readonly SqlValue[]): Statement {
  return { text, values }
}

/** Does the work with answers that come later. */
export async function done<T>(work: Work<T>, ask: Ask): Promise<T> {
  let step = work.next()
  while (!step.done) {
    const asked = step.value
    step = await ask(asked).then(
      (rows) => work.next(rows),
      (error) => work.throw(error),
    )
  }
  return step.value
}

/** The engines have booleans, or 0 and 1. */
export function isTrue(value: SqlValue | undefined): boolean {
  return value === true || value === 1
}
