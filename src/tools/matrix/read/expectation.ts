/** The content of one cell of a matrix: a caller, a request, an object, and the expected answer. Types only. */
import type { Place } from '../../../base/diagnostic.ts'
import type { Caller } from '../../../decide/caller.ts'
import type { Method } from '../../../resources/resource.ts'
import { type ListedRows, rowsText } from './listed-rows.ts'

/**
 * The object that a request is about. `none`: the path names no object; `missing`: it names one that doesn't exist;
 * `other`: one exists and no relation of ownership.yaml holds; `relations`: just these hold (sorted; `own` is `owner`).
 */
export type ObjectState =
  | { readonly kind: 'none' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'other' }
  | { readonly kind: 'relations'; readonly names: readonly string[] }

/** Who asks. `roles` is sorted, and empty for `everyone`: a caller with credentials and without a role. */
export type MatrixColumn =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'roles'; readonly roles: readonly string[] }
  | { readonly kind: 'user'; readonly id: string }

/** A caller with credentials. */
export type KnownColumn = Exclude<MatrixColumn, { readonly kind: 'anonymous' }>

export interface Expected {
  readonly status: number
  /** The answer shows exactly the fields of this view of views.yaml. */
  readonly view?: string
  /** The list has exactly these objects, among those that the run created for this cell. */
  readonly list?: ListedRows
}

/** One cell, for one of the methods of its row. */
export interface Expectation {
  /** The cell's position in its file. */
  readonly place: Place
  readonly method: Method
  /** As the schema's route writes it, `{id}` for the parameter. */
  readonly path: string
  readonly object: ObjectState
  readonly column: MatrixColumn
  /** The conditions of conditions.yaml that hold for the request, sorted; absent if none does. */
  readonly when?: readonly string[]
  /** Conditions that the row names as not holding. No condition outside of `when` holds, whether named here or not. */
  readonly whenNot?: readonly string[]
  /**
   * All relations that hold for the object as the request would leave it, sorted: the body changes the object so. Absent
   * if the body isn't made for that.
   */
  readonly becomes?: readonly string[]
  /** The path of the file that the request sends; absent for the smallest valid body. */
  readonly body?: string
  readonly note?: string
  readonly expected: Expected
}

/**
 * A cell that expects 428 is asked without `If-Match`. Every other cell sends the object's current tag if the route
 * requires it.
 */
export function isUnconditional({ expected }: Pick<Expectation, 'expected'>): boolean {
  return expected.status === 428
}

/**
 * The caller of a column; undefined without credentials. No rule names the id '', which stands for anybody with these
 * roles.
 */
export function callerIn(column: MatrixColumn, id = '', claims: Caller['claims'] = {}): Caller | undefined {
  return column.kind === 'anonymous' ? undefined : knownIn(column, id, claims)
}

/** The same for a column with credentials. */
export function knownIn(column: KnownColumn, id: string, claims: Caller['claims'] = {}): Caller {
  return column.kind === 'user' ? { id: column.id, roles: [], claims } : { id, roles: column.roles, claims }
}

/** As a matrix writes it; `own` for the owner alone. */
export function objectText(object: ObjectState): string {
  if (object.kind !== 'relations') return object.kind
  return object.names.length === 1 && object.names[0] === 'owner' ? 'own' : object.names.join('+')
}

/** As the column `when` writes it; empty if no condition holds. */
export function whenText({ when = [], whenNot = [] }: Pick<Expectation, 'when' | 'whenNot'>): string {
  return [...when, ...whenNot.map((name) => `!${name}`)].join('+')
}

/** As the head of a matrix writes it. */
export function columnText(column: MatrixColumn): string {
  if (column.kind === 'anonymous') return 'anonymous'
  if (column.kind === 'user') return `user:${column.id}`
  return column.roles.length === 0 ? 'everyone' : column.roles.join('+')
}

/** As a cell writes it. */
export function expectedText({ status, view, list }: Expected): string {
  if (list) return `${status} ${rowsText(list)}`
  return view === undefined ? String(status) : `${status} ${view}`
}
