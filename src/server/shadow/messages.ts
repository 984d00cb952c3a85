/** The messages between the server and the thread of the candidate policy. */

import type { Difference } from '../../analysis/replay/compare.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'

export interface CandidatePlace {
  readonly directory: string
  readonly schemas: string
}

/** Records of requests that were answered, oldest first. */
export type ToCandidate = readonly DecisionRecord[]

export interface RecordedDifference {
  readonly difference: Difference
  readonly record: DecisionRecord
}

export type FromCandidate =
  | { readonly kind: 'ready'; readonly revision: string }
  /** The candidate's files are refused. An earlier valid candidate, if there was one, is still compared. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The outcome of one message of records; `undecidable` and `unready` count records that could not be compared. */
  | {
      readonly kind: 'compared'
      readonly records: number
      readonly compared: number
      readonly undecidable: number
      /** Records that came while no candidate could be loaded. */
      readonly unready: number
      /** Records whose new decision threw an error. */
      readonly faults: number
      readonly differences: readonly RecordedDifference[]
    }
