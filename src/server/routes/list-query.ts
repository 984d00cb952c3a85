/** What a client asks of a list, read and checked (src/server/input/read-list-query.ts). */
import type { Comparison, SortKey } from '../../store/contract.ts'

export interface ListQuery {
  /** As sent, decoded: a link to the next page repeats them. */
  readonly parameters: ReadonlyMap<string, string>
  readonly limit: number
  readonly filter: readonly Comparison[]
  /** The last key is the id. */
  readonly order: readonly SortKey[]
  /** Undefined for all that are granted. */
  readonly fields: ReadonlySet<string> | undefined
  /** Whether the number of all objects that fit is asked for. */
  readonly counted: boolean
  readonly cursor?: string
}
