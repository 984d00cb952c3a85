/** PostgreSQL's errors (https://www.postgresql.org/docs/current/errcodes-appendix.html) as those of the contract. */
import { isOfContract, StoreUnavailable } from '../errors.ts'

const UNIQUE_VIOLATION = '23505'
/** The transaction failed before, and PostgreSQL ignores statements up to its end. */
const IN_FAILED_TRANSACTION = '25P02'
const READ_ONLY = '25006'
const QUERY_CANCELED = '57014'
const UNDEFINED_COLUMN = '42703'

/** Serialization failure, deadlock: the transaction is undone, and may succeed when it is run again. */
const PASSING = ['40001', '40P01']

/** The data of one statement is at fault: data exceptions, broken constraints, limits of the program. */
const OF_THE_STATEMENT = ['22', '23', '54']

export function isPassing(error: unknown): boolean {
  return PASSING.includes(codeOf(error) ?? '')
}

export function isAftermath(error: unknown): boolean {
  return codeOf(error) === IN_FAILED_TRANSACTION
}

/** Whether other statements of the transaction could have succeeded. */
export function isOfOneStatement(error: unknown): boolean {
  return OF_THE_STATEMENT.includes(codeOf(error)?.slice(0, 2) ?? '')
}

/** The server said it, so it could be asked. */
export function isOfServer(error: unknown): boolean {
  return codeOf(error) !== undefined
}

/** The values or the stored data are at fault (a damaged page has `XX001`): other data could be read. */
export function isOfData(error: unknown): boolean {
  return isOfOneStatement(error) || (codeOf(error)?.startsWith('XX') ?? false)
}

/** The server says that the connection is of no use any more: it ends it, or it accepts no writes. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error) ?? ''
  return code === READ_ONLY || code.startsWith('08') || code.startsWith('57P')
}

/** Of a write at a replica, or at a former primary that is one now. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === READ_ONLY
}

/** At its time-out, or because somebody asked for it. */
export function isCancelled(error: unknown): boolean {
  return codeOf(error) === QUERY_CANCELED
}

/** The table has the name of one of this program, but other columns. */
export function isOfOtherTable(error: unknown): error is Error {
  return codeOf(error) === UNDEFINED_COLUMN
}

/** The name of the unique constraint that the error is about. */
export function brokenConstraint(error: unknown): string | undefined {
  return codeOf(error) === UNIQUE_VIOLATION ? (error as { constraint?: string }).constraint : undefined
}

/** An error of the contract stays, every other one becomes StoreUnavailable. */
export function asOfContract(error: unknown): Error {
  if (isOfContract(error)) return error
  return new StoreUnavailable(withoutValues(error))
}

/** Runs the work, and converts every error to one of the contract. */
export async function answering<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw asOfContract(error)
  }
}

/** The driver's errors have values of rows in `detail` and `where`, and causes are logged. */
export function withoutValues(error: unknown): Error {
  // A name with several addresses: each was tried, and the error itself has no message.
  if (error instanceof AggregateError && error.message === '') return new Error(error.errors.map(messageOf).join(', '))
  const code = codeOf(error)
  if (code === undefined) return error instanceof Error ? error : new Error(String(error))
  const { severity } = error as { severity?: unknown }
  return Object.assign(new Error((error as Error).message || code), { code, severity })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function codeOf(error: unknown): string | undefined {
  // Errors of the system (`EPIPE`) have codes too, but no severity.
  const isOfServer = error instanceof Error && 'code' in error && 'severity' in error
  return isOfServer && typeof error.code === 'string' ? error.code : undefined
}
