/** The candidates of a search, page by page, always in the same order. Each is decided as an evaluation. */
import type { Json } from '../../../resources/resource.ts'
import type { Evaluation } from '../entities.ts'

export interface Candidate {
  /** Its place in the order: a later page begins after it. */
  readonly key: string
  readonly evaluation: Evaluation
  /** As an answer has it. */
  readonly result: Json
}

/** The next candidates after this place, at most `most`; fewer if there are no more. */
export type Candidates = (after: string | undefined, most: number) => Promise<readonly Candidate[]>

export const NO_CANDIDATES: Candidates = async () => []
