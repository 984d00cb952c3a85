/** One cell of a matrix: whether one caller may do what a row says, with which fields, and which rules decide that. */

import { evaluate, ruleNames, type Verdict } from '../../decide/grants/evaluate.ts'
import { couldHold } from '../../decide/grants/role-level.ts'
import type { Policy, Rule } from '../../decide/policy.ts'
import { type Column, relationSetsOf } from '../../decide/space.ts'
import type { RowPlan } from './rows.ts'

/**
 * Why: a rule grants it; no rule allows it; denies take all that is allowed; what is granted is outside of the route's
 * view; the caller's own record needs a caller; without credentials nobody relates to an object; blocked.txt names the caller.
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
  /** How much of the row's fields; `all` where an action has none and is allowed. */
  readonly granted: 'all' | 'some' | 'none'
  /** The granted fields, sorted, cut to the route's view. */
  readonly fields: readonly string[]
  /** Views that together hold exactly these fields; empty where there are none, or where all are granted. */
  readonly views: readonly string[]
  readonly reason: Reason
  /** Allows that grant, and denies that take, by line. */
  readonly rules: readonly Rule[]
  /** From this moment on the cell is another one; absent when nothing ends that counts. Milliseconds since the epoch. */
  readonly until?: number
}

/** semantics.md, "The actions"; `blocked` callers are refused before any rule. */
export function decideCell(policy: Policy, row: RowPlan, column: Column & { readonly blocked: boolean }): Cell {
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
  // Where nothing is allowed, a deny still tells that it isn't meant to be.
  const denies = verdict.denies.filter((rule) => names(policy, row, rule, about))
  if (about.some((field) => isNamed(policy, row, verdict.allows, field))) return denied('deny-rule', byLine(denies))
  return denied(verdict.fields.size > 0 ? 'outside-view' : 'no-rule', byLine(denies))
}

/** The fields, or the pseudo-field of an action about the whole. */
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

/** One view, or those of the rules that grant: only where they hold exactly these fields. */
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
