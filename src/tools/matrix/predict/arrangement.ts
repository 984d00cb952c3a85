/** What a cell is about, set up: the caller, the store and the request. Types only. */
import type { Policy } from '../../../decide/policy.ts'
import type { Json, Method } from '../../../resources/resource.ts'
import type { Column, ObjectState } from '../read/expectation.ts'
import type { Asker } from './grants.ts'
import type { Objects } from './situation.ts'

/** A request as a matrix writes it, without what is expected of it. */
export interface Cell {
  readonly method: Method
  readonly path: string
  readonly object: ObjectState
  readonly column: Column
  /** Absent for the smallest valid body. */
  readonly body?: string
  /** In place of a file. */
  readonly content?: Readonly<Record<string, Json>>
  /** Asked without `If-Match`, whatever the route requires. */
  readonly unconditional?: boolean
}

export interface ArrangedRequest {
  readonly asker: Asker
  /** The path's `{id}`; undefined where the path has none. */
  readonly id: string | undefined
  readonly body: Readonly<Record<string, Json>> | undefined
  readonly objects: Objects
}

export type Arranged =
  | { readonly kind: 'arranged'; readonly request: ArrangedRequest }
  /** Nothing can be so, or nothing was found that is. */
  | { readonly kind: 'impossible' | 'unarranged'; readonly why: string }

/** Sets up a cell as a policy's relations mean it. */
export type Arrange = (policy: Pick<Policy, 'ownership'>, cell: Cell) => Arranged
