/** What the server and the thread that compares policies tell each other: types only. */
import type { SourceText } from '../../resources/schema/schema-file.ts'
import type { ChangeSummary } from './summary.ts'

export interface ThreadData {
  /** The schema files that the server runs with. */
  readonly schemas: readonly SourceText[]
}

export type FromThread =
  | { readonly kind: 'compared'; readonly summary: ChangeSummary }
  | { readonly kind: 'failed'; readonly reason: string }
