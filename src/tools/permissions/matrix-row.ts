/** A row of a matrix, as data. */
import type { Method } from '../../resources/resource.ts'
import type { MatrixCell } from './cell.ts'
import type { ObjectKind, RowPlan } from './rows.ts'

export interface MatrixRow {
  readonly resource: string
  readonly path: string
  /** Methods of the same endpoint: GET and HEAD share a row. */
  readonly methods: readonly Method[]
  readonly action: string
  readonly object: ObjectKind
  /**
   * The relations of the caller to the object: names joined with `+` (these hold, and no other relation that a rule
   * names), `none` (no relation that a rule names holds), `any` (no rule names a relation), `-` (the request concerns
   * no object). In a merged row (merge-rows.ts) `!name` doesn't hold, and `…` stands for names that make no difference.
   */
  readonly relation: string
  /** For a transition: the relations of the result that the write can change and that rules ask for, or `none`. */
  readonly becomes?: string
  /** For a merged row: how many states or transitions it stands for. */
  readonly states?: number
  readonly view: string | undefined
  /** The fields that the row is about, sorted; none for an action without fields. */
  readonly fields: readonly string[]
  /** One a column, in their order. */
  readonly cells: readonly MatrixCell[]
}

/** Stands in the relation of a merged row for all names that make no difference. */
export const MERGED = '…'

export function describeRow(plan: RowPlan): Omit<MatrixRow, 'cells'> {
  const { resource, route, methods, action, object, relation, transition, fields } = plan
  return {
    resource: resource.name,
    path: route.path,
    methods,
    action: action.name,
    object,
    relation,
    ...(transition ? { becomes: transition.becomes } : {}),
    view: route.view,
    fields,
  }
}
