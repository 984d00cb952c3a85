/** The words of a matrix, the same in every form of output. */
import { timeText } from '../../base/time.ts'
import type { Rule, Term } from '../../decide/policy.ts'
import { endsOf } from '../../decide/rules/rule-table.ts'
import type { CellReason, MatrixCell } from './cell.ts'
import { type MatrixRow, MERGED } from './merge-rows.ts'
import type { ObjectKind } from './rows.ts'

/** A cell in a word or two: `all`, the names of views, `3/8` if no views have exactly these fields, `-` for denied. */
export function markOf({ outcome, granted, views, fields }: MatrixCell, row: Pick<MatrixRow, 'fields'>): string {
  if (outcome === 'denied') return '-'
  if (granted === 'all') return 'all'
  return views.join('|') || `${fields.length}/${row.fields.length}`
}

/** The relation of a row, with what the write makes of it: `owner+draft>placed`. */
export function relationLabel({ relation, becomes }: Pick<MatrixRow, 'relation' | 'becomes'>): string {
  return becomes === undefined ? relation : `${relation}>${becomes}`
}

/** The reason of a cell, and the conditions that could change it. */
export function reasonText({ reason, conditions = [] }: MatrixCell, { states }: Pick<MatrixRow, 'states'>): string {
  const text = states !== undefined && reason === 'no-rule' ? REFUSED_SOMEHOW : REASONS[reason]
  if (conditions.length === 0) return text
  const names = conditions.join(', ')
  return `${text} It depends on conditions of the request: ${names} (--with).`
}

/** The moment when the cell changes, as the policy files write times. */
export function untilOf({ until }: MatrixCell): string | undefined {
  return until === undefined ? undefined : timeText(until)
}

/** The moments at which cells change, in order. */
export function momentsOf(rows: readonly MatrixRow[]): readonly number[] {
  return endsOf(rows.flatMap(({ cells }) => cells))
}

/** For the states of a merged row, which need not lack an allow all alike. */
const REFUSED_SOMEHOW = 'No rule allows it, or a deny takes everything away.'

const REASONS: Readonly<Record<CellReason, string>> = {
  granted: 'Allowed by the rules below.',
  'no-rule': 'No rule allows it.',
  'deny-rule': 'Rules allow it, but a deny takes everything away.',
  'outside-view': 'The granted fields are outside the view of this path.',
  'needs-credentials': "This path is about the caller's own record, so the caller needs credentials.",
  unrelated: 'A caller without credentials has no relation to any object.',
  blocked: 'blocked.txt names this caller, so the server refuses it before any rule.',
}

/** The object of a row. */
export const OBJECTS: Readonly<Record<ObjectKind, string>> = {
  none: 'The request concerns no object.',
  stored: 'On an object with these relations. A change is checked again on the object after the change.',
  own: "On the caller's own record.",
  listed: 'The list has the objects with these relations, with these fields.',
  created: 'On the object as it would be stored.',
}

export const RELATIONS: Readonly<Record<'-' | 'any' | 'none', string>> = {
  '-': 'the request concerns no object',
  any: 'any object; no rule names a relation',
  none: 'no relation that rules name holds',
}

/** As the relation column writes them. */
export function termsText({ before, after }: Pick<Rule, 'before' | 'after'>): string {
  const side = (terms: readonly Term[]) => terms.map(({ name, negated }) => `${negated ? '!' : ''}${name}`).join('+')
  return after ? `${side(before) || 'any'}>${side(after)}` : side(before)
}

/** The relation of a row as a sentence. */
export function relationText({ relation, becomes }: Pick<MatrixRow, 'relation' | 'becomes'>): string {
  if (becomes === undefined) return objectText(relation)
  if (becomes.endsWith(MERGED)) return `Before the write: ${objectText(relation)} After it: ${objectText(becomes)}`
  const after = becomes === 'none' ? 'none holds' : `${namesHold(becomes)}, and no other`
  return `${objectText(relation)} After the write, of the relations that it can change, ${after}.`
}

function objectText(relation: string): string {
  if (relation.endsWith(MERGED)) return mergedText(relation)
  if (relation === 'any') return 'Any object: no rule names a relation.'
  if (relation === 'none') return 'No relation that rules name holds.'
  return `${namesHold(relation)}, and no other relation that rules name.`
}

function namesHold(names: string): string {
  return `${names.split('+').join(' and ')} ${names.includes('+') ? 'hold' : 'holds'}`
}

function mergedText(relation: string): string {
  const terms = relation.split('+').filter((term) => term !== MERGED)
  const all = terms.map((term) => (term.startsWith('!') ? `${term.slice(1)} doesn't hold` : `${term} holds`))
  return all.length === 0 ? 'whatever holds.' : `${all.join(', ')}; other relations make no difference.`
}
