/** The decision about a list: which objects it holds, which fields their rows show, and what a query may name. */

import { type Field, type FieldNames, isAggregated, type Representation } from '../../resources/resource.ts'
import { type Condition, meets } from '../conditions/condition.ts'
import { simplify } from '../conditions/simplify-condition.ts'
import type { Evidence } from '../evidence.ts'
import { comparedFields, followsFrom, kindOf } from '../relations/all-kinds.ts'
import type { CallerAndTime, Relation } from '../relations/relation-kind.ts'
import { type CallerGrants, factsOf, inView, withConditions } from './caller-grants.ts'

/** The field names in a query, declared or not. */
export interface QueriedFields {
  /** The names in filters and sort keys. */
  readonly queried: readonly string[]
  /** The fields that the client selects for the rows; undefined for all. */
  readonly selected: readonly string[] | undefined
}

/**
 * The fields that the rows of a list show: the same in each row, or those that `of` returns for the compared fields of
 * a row and for whether each of `marks` holds for it.
 */
export type RowFields =
  | { readonly kind: 'alike'; readonly fields: FieldNames }
  | {
      readonly kind: 'by row'
      readonly compared: FieldNames
      readonly of: (compared: Representation, marks: readonly boolean[]) => FieldNames
    }

export class ListDecision {
  readonly kind = 'list'
  readonly #grants: CallerGrants
  #evidence: Evidence
  /** Matches exactly the objects that may be listed. */
  readonly where: Condition
  /** The fields that at least one row may show. */
  readonly shown: FieldNames
  /** The fields that the list may be filtered and sorted by: indexed, and shown in every row; by name. */
  readonly queryable: ReadonlyMap<string, Field>

  /** `showing`: only objects whose rules let the caller see all these fields. */
  constructor(grants: CallerGrants, showing: readonly string[] = []) {
    const { table, roleLevel, asking, conditions, view } = grants
    this.#grants = grants
    const partly = showing.filter((field) => !roleLevel.shownInEveryRow.has(field))
    const views = [view, ...partly.map((field) => new Set([field]))]
    const rows = views.map((one) => table.where(asking, conditions.holding, one))
    this.where = rows.length === 1 ? (rows[0] as Condition) : simplify({ kind: 'all', of: rows })
    this.shown = inView(grants, roleLevel.grantable)
    this.queryable = view ? new Map([...roleLevel.queryable].filter(([name]) => view.has(name))) : roleLevel.queryable
    const everywhere = [...inView(grants, roleLevel.shownInEveryRow)]
    const facts = { ...factsOf(grants), where: this.where, shown: [...this.shown], everywhere }
    this.#evidence = { relations: [], lines: roleLevel.lines, fieldsRefused: [], facts }
  }

  get evidence(): Evidence {
    return this.#evidence
  }

  /** The same list, without the objects on which this field is hidden. */
  showing(field: string): ListDecision {
    return new ListDecision(this.#grants, [field])
  }

  /** Whether fields of the resource refer to other objects. */
  get refers(): boolean {
    return this.#grants.resource.references !== undefined
  }

  /** Whether `aggregate` and `by` are parameters of a list. Fields that can be filtered by may have these names. */
  get aggregates(): boolean {
    return isAggregated(this.#grants.resource)
  }

  /** The queries that a list of this resource accepts under the most generous policy. */
  get widest(): Pick<ListDecision, 'queryable' | 'shown' | 'refers' | 'aggregates'> {
    const { fields } = this.#grants.resource
    const queryable = new Map([...fields].filter(([name, { indexed }]) => indexed || name === 'id'))
    return { queryable, shown: new Set(fields.keys()), refers: this.refers, aggregates: this.aggregates }
  }

  /** Adds the query's fields to the evidence and, if only the policy refuses the query, the refused fields. */
  recordQuery(asked: QueriedFields, refused?: 'by the policy'): void {
    const queried = this.#declared(asked.queried)
    const selected = this.#declared(asked.selected ?? [])
    const unasked = [
      ...queried.filter((name) => !this.queryable.has(name)),
      ...selected.filter((name) => !this.shown.has(name)),
    ]
    this.#evidence = {
      ...this.#evidence,
      fieldsRefused: refused ? [...new Set(unasked)] : [],
      facts: { ...this.#evidence.facts, queried, ...(asked.selected ? { selected } : {}) },
    }
  }

  /** A record must not contain names that a client invented. */
  #declared(names: readonly string[]): readonly string[] {
    return [...new Set(names)].filter((name) => this.#grants.resource.fields.has(name))
  }

  /** The fields that each row shows: those of the selected fields (undefined: all) that its own relations grant. */
  rowFields(asked?: FieldNames): RowFields {
    const { table, roleLevel } = this.#grants
    const shown = (granted: FieldNames) => {
      const visible = inView(this.#grants, granted)
      return asked ? visible.intersection(asked) : visible
    }
    if (roleLevel.shownAlike) return { kind: 'alike', fields: shown(roleLevel.shownAlike) }
    // Relations that no rule of the table names don't count, so only the fields that the other relations compare are
    // read.
    const compared = new Set(table.compared.flatMap(comparedFields))
    const { holding } = this.#grants.conditions
    const by = { compared: table.compared, steps: table.steps, asking: this.#grants.asking }
    // The grant table has few sets of fields, and many rows have the same.
    const known = new Map<FieldNames, FieldNames>()
    const of = (row: Representation, marks: readonly boolean[]) => {
      const { fields } = table.grant(withConditions(relationsOfRow(by, row, marks), holding))
      return known.getOrInsertComputed(fields, () => shown(fields))
    }
    return { kind: 'by row', compared, of }
  }

  /** What the store must compute for each row beside its fields: the conditions that rest on other objects. */
  get marks(): readonly Condition[] {
    const { table, roleLevel, asking } = this.#grants
    if (roleLevel.shownAlike) return []
    return table.steps.map((relation) => kindOf(relation).condition(relation, asking))
  }
}

/** `steps`: the relations that rest on other objects. */
interface RowRelating {
  readonly compared: readonly Relation[]
  readonly steps: readonly Relation[]
  readonly asking: CallerAndTime
}

/** Of the compared relations, those that hold for a row; `marks` says it of each of `steps`. */
export function relationsOfRow(
  { compared, steps, asking }: RowRelating,
  row: Representation,
  marks: readonly boolean[],
): readonly string[] {
  const holds = (leaf: Relation) => {
    const mark = steps.indexOf(leaf)
    return mark < 0 ? meets(kindOf(leaf).condition(leaf, asking), row) : (marks[mark] ?? false)
  }
  return compared.filter((relation) => followsFrom(relation, holds)).map(({ name }) => name)
}
