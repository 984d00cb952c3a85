/**
 * Statements as plain data, and work that asks them. The work is written once, as a generator: SQLite answers each
 * statement at once (sqlite/statements.ts), PostgreSQL later.
 */

/** An open database, as the parts of the store that are written once see it. Every method throws errors of the contract. */
export interface SqlEngine {
  readonly dialect: SqlDialect
  readonly now: () => Date
  /** Sees everything that any instance committed before the call. */
  readonly ask: Ask
  /** In one transaction, after all writes before it. Durable when it returns. */
  write<T>(work: () => Work<T>): Promise<T>
  /** A small change by itself: it waits for no other write for long. Durable when it returns. */
  readonly change: Ask
  /** A change that no client waits for. */
  readonly changeSoon: (statement: Statement) => Promise<unknown>
}

export function read<T>({ ask }: SqlEngine, work: Work<T>): Promise<T> {
  return done(work, ask)
}

/** The first row. */
export function* first(text: string, ...values: readonly SqlValue[]): Work<Row | undefined> {
  const [row] = yield sql(text, ...values)
  return row
}

/** All rows. */
export function* all(statement: Statement): Work<readonly Row[]> {
  return yield statement
}

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

export interface SqlDialect {
  /** The types of columns: whole numbers of eight bytes, texts that compare by code points, true or false, bytes. */
  readonly number: string
  readonly key: string
  readonly flag: string
  readonly bytes: string
  /** A number that grows with every row. */
  readonly outboxNumber: string
  /** Whether all processes run on one machine, and so have one clock. */
  readonly hasOneClock: boolean
  /** The column of leases that each renewal changes. */
  readonly leaseMark: string
  /** The end of `create table`. */
  readonly strict: string
  /** The engine's own clock: milliseconds since the epoch, the same for a whole statement. */
  readonly now: string
  /** The functions that give the greatest and the least of their arguments. */
  readonly greatest: string
  readonly least: string
  /** The latest end that is over. `now`: the parameter of the instance's time. */
  readonly endedBy: (now: string) => string
  /** Selects the names of the tables, as `name`. */
  readonly tables: string
  /** The elements of a JSON list, as rows with a column `value`. `list`: the parameter. */
  readonly elements: (list: string) => string
  /** Whether the users record `u` has one of these roles: a test, and the value of its parameter `$1`. */
  readonly hasRole: (roles: readonly string[]) => { readonly test: string; readonly value: string }
  /** A text as the engine keeps it. */
  readonly text: (text: string) => string
  /** A text to find a row by: null, which equals nothing, if no row can have it. */
  readonly sought: (text: string) => string | null
  /** A text that was kept. */
  readonly fromStored: (stored: SqlValue | undefined) => string
}

// Names and texts that stand in statements. Values are bound, never written into the text.

/** A name of a table, a column or an index. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text where nothing can be bound, such as in an index. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** No other text may be stored as an id or a subject: it would come back as another one, perhaps as somebody else's. */
export function wellFormed(text: string): string {
  if (!text.isWellFormed()) throw new Error('an id or a subject must be well-formed Unicode')
  return text
}
