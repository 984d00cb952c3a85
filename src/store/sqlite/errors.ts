/** Which errors of the engine mean what: a constraint that a write would break, or a store that can't answer. */
import { DamagedObject, ReplayTaken, StaleObject, StoreUnavailable, UniqueTaken } from '../contract.ts'

/** https://sqlite.org/rescode.html */
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555
const SQLITE_CONSTRAINT_UNIQUE = 2067

/** Runs the work; whatever it throws leaves as an error of the contract. */
export function answering<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const told = [UniqueTaken, StaleObject, ReplayTaken, DamagedObject].some((kind) => error instanceof kind)
    throw told ? error : new StoreUnavailable(error)
  }
}

/** A document in the way of a statement that looks into documents. */
export function isMalformedJson(error: unknown): boolean {
  return error instanceof Error && error.message === 'malformed JSON'
}

/** What the engine names as broken, e.g. `UNIQUE constraint failed: table.column`; undefined for any other error. */
export function constraintOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined
  const unique = error.errcode === SQLITE_CONSTRAINT_UNIQUE || error.errcode === SQLITE_CONSTRAINT_PRIMARYKEY
  return unique ? error.message : undefined
}
