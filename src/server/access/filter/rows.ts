/** The rows of a filter: those on which an evaluation of the same question, without fields or with them, is true. */

import type { Condition } from '../../../decide/conditions/condition.ts'
import { simplify } from '../../../decide/conditions/simplify-condition.ts'
import type { GrantedWhere } from '../../../decide/grants/grant-table.ts'

export interface AskedFields {
  /** The fields that the action concerns; empty for an action on the whole object. */
  readonly all: ReadonlySet<string>
  /** The fields that the question names; undefined for none. */
  readonly asked: readonly string[] | undefined
  /** Whether the service heeds the fields of an answer; otherwise a row needs all of them. */
  readonly understandsFields: boolean
}

export interface Rows {
  readonly where: Condition
  /** The fields that are granted on each row, and those on some; undefined for an action on the whole object. */
  readonly fields: RowsFields | undefined
}

interface RowsFields {
  readonly always: readonly string[]
  /** Each group with the rows on which it is granted. */
  readonly sometimes: readonly GrantedWhere[]
}

const NEVER: Rows = { where: { kind: 'never' }, fields: undefined }

export function rowsGranted(granted: readonly GrantedWhere[], { all, asked, understandsFields }: AskedFields): Rows {
  const [whole] = granted
  if (all.size === 0) return whole?.fields.includes('*') ? { where: simplify(whole.where), fields: undefined } : NEVER
  if (asked?.some((name) => !all.has(name))) return NEVER
  const wanted = new Set(asked ?? all)
  const groups = granted
    .map(({ fields, where }) => ({ fields: fields.filter((name) => wanted.has(name)), where: simplify(where) }))
    .filter(({ fields }) => fields.length > 0)
  if (groups.length === 0) return NEVER
  const of = groups.map(({ where }) => where)
  if (asked || !understandsFields) {
    return { where: simplify({ kind: 'all', of }), fields: { always: [...wanted], sometimes: [] } }
  }
  const where = simplify({ kind: 'some', of })
  return { where, fields: fieldsOf(groups, where) }
}

/** Groups that are granted on the same rows are one. */
function fieldsOf(groups: readonly GrantedWhere[], where: Condition): RowsFields {
  const alike = Map.groupBy(groups, (group) => JSON.stringify(group.where))
  const always = alike.get(JSON.stringify(where)) ?? []
  const sometimes = [...alike.values()].flatMap(([first, ...others]) => {
    if (!first || first.where.kind === 'never' || always.includes(first)) return []
    return [{ where: first.where, fields: [first, ...others].flatMap(({ fields }) => fields) }]
  })
  return { always: always.flatMap(({ fields }) => fields), sometimes }
}
