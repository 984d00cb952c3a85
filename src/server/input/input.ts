/** The checked input of a request: query parameters, body, preconditions, idempotency key. */
import type { Field, Json } from '../../resources/resource.ts'
import type { Comparison } from '../../resources/routing/query.ts'
import type { SortKey } from '../../store/contract.ts'
import type { PatchOperation } from '../routes/json-patch.ts'

export type Input = Content & { readonly preconditions: Preconditions; readonly idempotencyKey?: string | undefined }

/** One form for each kind of operation. */
export type Content =
  | { readonly kind: 'nothing' }
  | ({ readonly kind: 'item' } & ItemRequest)
  | ({ readonly kind: 'history' } & HistoryRequest)
  | { readonly kind: 'list'; readonly query: ListRequest }
  | { readonly kind: 'body'; readonly body: Readonly<Record<string, Json>> }
  | { readonly kind: 'json-patch'; readonly operations: readonly PatchOperation[] }

/** The query of an item. */
export interface ItemRequest {
  /** Whether the answer shows what the caller can do with the object. */
  readonly can: boolean
  /** The references whose objects the answer shows, as sent. */
  readonly expand?: string | undefined
}

/** The query of a history. */
export interface HistoryRequest {
  readonly limit: number
  readonly cursor?: string | undefined
  /** The version of this time alone; RFC 3339, UTC, milliseconds. */
  readonly at?: string | undefined
}

/** The query of a list. */
export interface ListRequest {
  /** As sent, decoded: a link to the next page repeats them. */
  readonly parameters: ReadonlyMap<string, string>
  readonly limit: number
  readonly filter: readonly Comparison[]
  /** The last key is the id. */
  readonly order: readonly SortKey[]
  /** Undefined for all granted fields. */
  readonly fields: ReadonlySet<string> | undefined
  /** Whether the client asks for the total number of matching objects. */
  readonly counted: boolean
  /** Whether the answer shows what the caller can do with each object. */
  readonly can: boolean
  /** The references whose objects each row shows, as sent. */
  readonly expand?: string | undefined
  /** Instead of the objects. */
  readonly aggregates?: Aggregates | undefined
  readonly cursor?: string
}

export type AggregateFunction = 'sum' | 'min' | 'max' | 'avg'

/** `name`: as it was asked for. */
export type AskedAggregate =
  | { readonly name: string; readonly of: 'count' }
  | { readonly name: string; readonly of: AggregateFunction; readonly field: string }

export interface Aggregates {
  readonly asked: readonly AskedAggregate[]
  /** The objects with the same values are a group; none: all objects are one. */
  readonly by: readonly Field[]
}

export interface Preconditions {
  readonly ifMatch?: TagCondition | undefined
  readonly ifNoneMatch?: TagCondition | undefined
}

/** `any` is `*`: any current representation. */
export type TagCondition = { readonly kind: 'any' } | { readonly kind: 'listed'; readonly tags: readonly EntityTag[] }

export interface EntityTag {
  readonly weak: boolean
  /** Without the quotes. */
  readonly opaque: string
}
