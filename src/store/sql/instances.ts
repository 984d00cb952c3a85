/**
 * What instances share beside the store: each part has its own tables and connection, made when they are first needed.
 */
import { type Row, type SqlDialect, type Statement, sql, type Work } from './statement.ts'

/** Every method throws StoreUnavailable. */
export interface InstanceDatabase {
  readonly dialect: SqlDialect
  ask(statement: Statement): Promise<readonly Row[]>
  /** Doesn't wait behind the other questions. */
  look(statement: Statement): Promise<readonly Row[]>
  /** In one transaction, durable when it returns. Returns the rows of the first statement. */
  change(first: Statement, ...others: readonly Statement[]): Promise<readonly Row[]>
  /** In one transaction; of all processes, one at a time. */
  make(work: () => Work<void>): Promise<void>
  close(): Promise<void>
}

interface InstanceTables {
  readonly statements: readonly string[]
  /** The last version that the statements make. */
  readonly last: string
  /** Rows: those without which the last table isn't made yet. */
  readonly rows?: Statement
  readonly fill?: () => Work<void>
}

/** Creating what exists already would wait for the lock of another process. */
export async function makeMissing(database: InstanceDatabase, tables: InstanceTables): Promise<void> {
  try {
    const names = await database.ask(sql(database.dialect.tables))
    const isThere = names.some(([name]) => name === tables.last)
    const isMade = isThere && (!tables.rows || (await database.ask(tables.rows)).length > 0)
    if (!isMade) await database.make(() => make(tables))
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Of two processes that start together, the second one finds it made. */
function* make({ statements, rows, fill }: InstanceTables): Work<void> {
  for (const text of statements) yield sql(text)
  if (rows && fill && (yield rows).length === 0) yield* fill()
}
