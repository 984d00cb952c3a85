/** Where a whole run takes place: it lends stages to cells, and is left as it was found. Types only. */
import type { Expectation } from '../read/expectation.ts'
import type { Stage } from './server-under-test.ts'

export interface Lease {
  readonly stage: Stage
  release(): Promise<void>
}

export interface Arena {
  /** The deployment's address; undefined for this process. */
  readonly url: string | undefined
  /** How many cells at once, unless somebody wishes otherwise. */
  readonly parallel: number
  /** The stage that most cells share. */
  readonly stage: Stage
  lend(expectation: Expectation): Promise<Lease>
  /** Takes away what the run made; tells what it could not, a sentence each. */
  leave(): Promise<readonly string[]>
}
