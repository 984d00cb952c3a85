/** One cell of a matrix: whether one caller may do what a row says, with which fields, and which rules decide that. */

import { evaluate, ruleNames, type Verdict } from '../../decide/grants/evaluate.ts'
import { couldHold } from '../../decide/grants/role-level.ts'
import type { Block, Policy, Rule } from '../../decide/policy.ts'
import { relationSetsOf } from '../../decide/relations/possible-sets.ts'
import { endsOf, livingAt } from '../../decide/rules/ends.ts'
import type { Column } from '../../decide/space.ts'
import type { RowPlan } from './rows.ts'

/**
 * `granted`: a rule grants it. `no-rule`: no rule allows it. `deny-rule`: denies take away everything that is allowed.
 * `outside-view`: the granted fields are outside the route's view. `needs-credentials`: the path shows the caller's own
 * record. `unrelated`: no relation to the caller holds without credentials. `blocked`: blocked.txt names the caller.
 */
export type Reason =
  | 'granted'
  | 'no-rule'
  | 'deny-rule'
  | 'outside-view'
  | 'needs-credentials'
  | 'unrelated'
  | 'blocked'

export interface Cell {
  readonly outcome: 'allowed' | 'denied'
  /** How many of the row's fields; `all` for an allowed action without fields. */
  readonly granted: 'all' | 'some' | 'none'
  /** The granted fields that are in the route's view, sorted. */
  readonly fields: readonly string[]
  /** Views that together have exactly these fields; empty if there are none, or if all fields are granted. */
  readonly views: readonly string[]
  readonly reason: Reason
  /** Allows that grant fields, and denies that take fields away, by line. */
  readonly rules: readonly Rule[]
  /** The moment when the cell changes; absent if it never does. Milliseconds since the epoch. */
  readonly until?: number
}

export interface TimedColumn extends Column {
  /** Undefined for a caller who is not in blocked.txt. */
  readonly block: Block | undefined
}

/** The cell at `now` (milliseconds since the epoch), and the moment when its outcome or its fields change. */
export function decideCell(policy: Policy, row: RowPlan, column: TimedColumn, now: number): Cell {
  const mine = { ...policy, rules: policy.rules.filter(({ subject }) => column.subjects.has(subject)) }
  const at = (time: number) => decideAt(livingAt(mine, time), row, { ...column, blocked: isBlocked(column, time) })
  const cell = at(now)
  const ends = endsOf([...mine.rules, { ...(column.block?.until === undefined ? {} : { until: column.block.until }) }])
  const until = ends.find((end) => end > now && meaningOf(at(end)) !== meaningOf(cell))
  return until === undefined ? cell : { ...cell, until }
}

function isBlocked({ block }: TimedColumn, time: number): boolean {
  return block !== undefined && (block.until === undefined || time < block.until)
}

function meaningOf({ outcome, granted, fields }: Cell): string {
  return JSON.stringify([outcome, granted, fields])
}

/** semantics.md, "The actions"; `blocked` callers are refused before any rule. */
function decideAt(policy: Policy, row: RowPlan, column: Column & { readonly blocked: boolean }): Cell {
  const { subjects, blocked } = column
  if (blocked) return denied('blocked', [])
  const anonymous = subjects.has('anonymous')
  if (anonymous && row.route.kind === 'caller' && row.operation !== 'options') return denied('needs-credentials', [])
  if (anonymous && row.related) return denied('unrelated', [])
  return row.route.redirect && row.operation !== 'options'
    ? decideRedirect(policy, row, subjects)
    : decideByFields(policy, row, evaluate(policy, { ...row, subjects }))
}

function decideByFields(policy: Policy, row: RowPlan, verdict: Verdict): Cell {
  const about = aboutOf(row)
  const shown = about.filter((field) => verdict.fields.has(field))
  // A list holds the objects that are granted in any field; the route's view cuts what their rows show.
  const allowed = shown.length > 0 || (row.operation === 'list' && verdict.fields.size > 0)
  if (!allowed) return refused(policy, row, verdict)
  const fields = shown.filter((field) => field !== '*')
  const granting = verdict.allows.filter((rule) => names(policy, row, rule, shown.length > 0 ? shown : verdict.fields))
  const taken = about.filter((field) => !verdict.fields.has(field) && isNamed(policy, row, verdict.allows, field))
  const taking = verdict.denies.filter((rule) => names(policy, row, rule, taken))
  return {
    outcome: 'allowed',
    granted: extentOf(shown, about),
    fields,
    views: shown.length < about.length ? viewsOf(policy, row, fields, granting) : [],
    reason: 'granted',
    rules: byLine([...granting, ...taking]),
  }
}

function refused(policy: Policy, row: RowPlan, verdict: Verdict): Cell {
  const about = aboutOf(row)
  // Where nothing is allowed, a deny still shows that this is intended.
  const denies = verdict.denies.filter((rule) => names(policy, row, rule, about))
  if (about.some((field) => isNamed(policy, row, verdict.allows, field))) return denied('deny-rule', byLine(denies))
  return denied(verdict.fields.size > 0 ? 'outside-view' : 'no-rule', byLine(denies))
}

/** The fields, or the pseudo-field of an action without fields. */
function aboutOf({ fields }: RowPlan): readonly string[] {
  return fields.length > 0 ? fields : ['*']
}

/** A redirect asks the role level alone: allowed if some relation set that the caller could have would be. */
function decideRedirect(policy: Policy, row: RowPlan, subjects: ReadonlySet<string>): Cell {
  const ownership = policy.ownership.get(row.resource.name)
  const verdicts = relationSetsOf(policy, row.resource, row.action)
    .filter((relations) => couldHold(ownership, { relations: [...relations] }, () => !subjects.has('anonymous')))
    .map((relations) => evaluate(policy, { ...row, subjects, relations }))
  const granting = verdicts.flatMap(({ fields, allows }) => allows.filter((rule) => names(policy, row, rule, fields)))
  if (granting.length > 0) return { ...whole, rules: byLine(granting) }
  const denies = verdicts.flatMap((verdict) => verdict.denies)
  return denied(verdicts.some(({ allows }) => allows.length > 0) ? 'deny-rule' : 'no-rule', byLine(denies))
}

const whole = { outcome: 'allowed', granted: 'all', fields: [], views: [], reason: 'granted' } as const

function denied(reason: Reason, rules: readonly Rule[]): Cell {
  return { outcome: 'denied', granted: 'none', fields: [], views: [], reason, rules }
}

function extentOf(shown: readonly string[], about: readonly string[]): Cell['granted'] {
  if (shown.length === 0) return 'none'
  return shown.length < about.length ? 'some' : 'all'
}

/** One view, or the views of the granting rules, if they have exactly these fields. */
function viewsOf(
  policy: Policy,
  { resource, fields: about }: RowPlan,
  fields: readonly string[],
  granting: readonly Rule[],
): readonly string[] {
  const views = policy.views.get(resource.name)
  const hold = (names: readonly string[]) => {
    const held = about.filter((field) => names.some((name) => views?.get(name)?.has(field)))
    return held.length === fields.length && held.every((field) => fields.includes(field))
  }
  const used = [...new Set(granting.flatMap((rule) => rule.views))].filter((view) => views?.has(view)).sort()
  const single = [...used, ...[...(views?.keys() ?? [])].sort()].find((name) => hold([name]))
  if (single !== undefined && fields.length > 0) return [single]
  return fields.length > 0 && hold(used) ? used : []
}

function names(policy: Policy, { resource }: RowPlan, rule: Rule, fields: Iterable<string>): boolean {
  return [...fields].some((field) => ruleNames(policy, rule, resource, field))
}

function isNamed(policy: Policy, { resource }: RowPlan, rules: readonly Rule[], field: string): boolean {
  return rules.some((rule) => ruleNames(policy, rule, resource, field))
}

function byLine(rules: readonly Rule[]): readonly Rule[] {
  return [...new Set(rules)].toSorted((a, b) => a.line - b.line)
}
