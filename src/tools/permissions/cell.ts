/** One cell of a matrix: whether one caller may do what a row says, with which fields, and which rules decide that. */

import { subsets } from '../../base/subsets.ts'
import type { Caller } from '../../decide/caller.ts'
import { decideHypothetical } from '../../decide/decide.ts'
import { NO_FACTS, withFacts } from '../../decide/facts.ts'
import type { DirectPolicy } from '../../decide/grants/direct.ts'
import type { Grant } from '../../decide/grants/grant.ts'
import type { GrantTable } from '../../decide/grants/grant-table.ts'
import type { RoleLevel } from '../../decide/grants/role-level.ts'
import type { Block, Rule } from '../../decide/policy.ts'
import { endsOf, lives } from '../../decide/rules/rule-table.ts'
import type { RowPlan } from './rows.ts'

/**
 * `granted`: a rule grants it. `no-rule`: no rule allows it. `deny-rule`: denies take away everything that is allowed.
 * `outside-view`: the granted fields are outside the route's view. `needs-credentials`: the path shows the caller's own
 * record. `unrelated`: no relation to the caller holds without credentials. `blocked`: blocked.txt names the caller.
 */
export type CellReason =
  | 'granted'
  | 'no-rule'
  | 'deny-rule'
  | 'outside-view'
  | 'needs-credentials'
  | 'unrelated'
  | 'blocked'

export interface MatrixCell {
  readonly outcome: 'allowed' | 'denied'
  /** How many of the row's fields; `all` for an allowed action without fields. */
  readonly granted: 'all' | 'some' | 'none'
  /** The granted fields that are in the route's view, sorted. */
  readonly fields: readonly string[]
  /** Views that together have exactly these fields; empty if there are none, or if all fields are granted. */
  readonly views: readonly string[]
  readonly reason: CellReason
  /** Allows that grant fields, and denies that take fields away, by line. */
  readonly rules: readonly Rule[]
  /** The conditions of the request on which the cell depends, in the order of conditions.yaml; absent if there are none. */
  readonly conditions?: readonly string[]
  /** The moment when the cell changes; absent if it never does. Milliseconds since the epoch. */
  readonly until?: number
}

interface CellCaller {
  /** Undefined without credentials. */
  readonly caller: Caller | undefined
  /** Undefined for a caller who is not in blocked.txt. */
  readonly block: Block | undefined
}

/** The policy with the rules that haven't ended at a time; with all rules if no time is given. */
export type PolicyAt = (time?: number) => DirectPolicy

/** When a cell is decided, and under which conditions of the request. */
interface CellMoment {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** The conditions that hold; the others don't. */
  readonly holding: readonly string[]
}

/** The cell, the moment when its outcome or its fields change, and the conditions that they depend on. */
export function decideCell(
  policyAt: PolicyAt,
  row: RowPlan,
  asking: CellCaller,
  { now, holding }: CellMoment,
): MatrixCell {
  const { caller } = asking
  const at = (time: number, held = holding) =>
    decideAt(policyAt(time), row, caller, { blocked: isBlocked(asking, time), holding: held })
  const cell = at(now)
  // Every caller with credentials could have any attribute.
  const { rules } = tableOf(policyAt(), row, caller).roleLevel(() => caller !== undefined)
  const ends = endsOf(asking.block ? [...rules, asking.block] : rules)
  const until = ends.find((end) => end > now && textOf(at(end)) !== textOf(cell))
  const conditions = conditionsThatCount(row.conditions, (held) => textOf(at(now, held)))
  return { ...cell, ...(until !== undefined && { until }), ...(conditions.length > 0 && { conditions }) }
}

/** Of these conditions, those with and without which the cell says something else, whichever others hold. */
function conditionsThatCount(named: readonly string[], textWith: (holding: readonly string[]) => string) {
  const sets = subsets(named)
  const texts = named.length === 0 ? new Map() : new Map(sets.map((set) => [set.join('+'), textWith(set)]))
  return named.filter((name) =>
    sets.some((set) => {
      return set.includes(name) && texts.get(set.join('+')) !== texts.get(set.filter((one) => one !== name).join('+'))
    }),
  )
}

function isBlocked({ block }: CellCaller, time: number): boolean {
  return block !== undefined && lives(block, time)
}

function textOf({ outcome, granted, fields }: MatrixCell): string {
  return JSON.stringify([outcome, granted, fields])
}

interface CellCircumstances {
  readonly blocked: boolean
  readonly holding: readonly string[]
}

function decideAt(
  policy: DirectPolicy,
  row: RowPlan,
  caller: Caller | undefined,
  { blocked, holding }: CellCircumstances,
): MatrixCell {
  const { route, endpoint, resource, relations } = row
  const question = { route, endpoint, resource, subject: policy.subjectOf(caller), blocked, holding, now: 0 }
  const decision = withFacts(decideHypothetical(question, policy, [...relations]), NO_FACTS)
  const refusal =
    decision.kind === 'hypothetical' ? decision.refusal : decision.kind === 'refused' ? decision : undefined
  if (refusal?.check === 'blocked') return denied('blocked', [])
  if (refusal?.check === 'own-record') return denied('needs-credentials', [])
  if (!caller && row.related) return denied('unrelated', [])
  const table = tableOf(policy, row, caller)
  if (route.redirect && endpoint.operation !== 'options') {
    return redirectCell(
      table,
      table.roleLevel(() => caller !== undefined, holding),
      holding,
    )
  }
  const first = table.grant([...relations, ...holding])
  if (refusal || !row.transition) return refusal ? refusedCell(row, table, first) : allowedCell(row, table, first)
  const { stored, mixed, proposed } = row.transition
  // The second decision never grants more than the first.
  const second = table.grantResult({ stored: [...stored, ...holding], mixed: [...mixed, ...holding], proposed })
  return second.fields.size > 0 ? allowedCell(row, table, second) : refusedCell(row, table, second)
}

function tableOf(policy: DirectPolicy, { resource, action }: RowPlan, caller: Caller | undefined): GrantTable {
  return policy.table(policy.subjectOf(caller), resource.name, action.name)
}

function allowedCell(row: RowPlan, table: GrantTable, grant: Grant): MatrixCell {
  const about = fieldsOf(row)
  const shown = about.filter((field) => grant.fields.has(field))
  const fields = shown.filter((field) => field !== '*')
  const granting = grant.allows.filter((rule) => table.names(rule, shown.length > 0 ? shown : grant.fields))
  const taken = about.filter((field) => !grant.fields.has(field) && isNamed(table, grant.allows, field))
  const taking = grant.denies.filter((rule) => table.names(rule, taken))
  return {
    outcome: 'allowed',
    granted: extentOf(shown, about),
    fields,
    views: shown.length < about.length ? viewsOf(row, fields, granting) : [],
    reason: 'granted',
    rules: rulesByLine([...granting, ...taking]),
  }
}

function refusedCell(row: RowPlan, table: GrantTable, { fields, allows, denies }: Grant): MatrixCell {
  const about = fieldsOf(row)
  // Where nothing is allowed, a deny still shows that this is intended.
  const denying = rulesByLine(denies.filter((rule) => table.names(rule, about)))
  if (about.some((field) => isNamed(table, allows, field))) return denied('deny-rule', denying)
  return denied(fields.size > 0 ? 'outside-view' : 'no-rule', denying)
}

/** The fields, or the pseudo-field of an action without fields. */
function fieldsOf({ fields }: RowPlan): readonly string[] {
  return fields.length > 0 ? fields : ['*']
}

/** A redirect is decided by the role level alone. */
function redirectCell(table: GrantTable, roleLevel: RoleLevel, holding: readonly string[]): MatrixCell {
  const grants = roleLevel.relationColumns('allows').map(({ before }) => {
    const wanted = before.filter(({ negated }) => !negated).map(({ name }) => name)
    return table.grant([...wanted, ...holding])
  })
  const granting = grants.flatMap(({ allows, fields }) => allows.filter((rule) => table.names(rule, fields)))
  if (roleLevel.allowed) return { ...whole, rules: rulesByLine(granting) }
  const allows = new Set(grants.flatMap((grant) => grant.allows))
  const denies = roleLevel.rules.filter((rule) => !allows.has(rule))
  return denied(grants.length > 0 ? 'deny-rule' : 'no-rule', denies)
}

const whole = { outcome: 'allowed', granted: 'all', fields: [], views: [], reason: 'granted' } as const

function denied(reason: CellReason, rules: readonly Rule[]): MatrixCell {
  return { outcome: 'denied', granted: 'none', fields: [], views: [], reason, rules }
}

function extentOf(shown: readonly string[], about: readonly string[]): MatrixCell['granted'] {
  if (shown.length === 0) return 'none'
  return shown.length < about.length ? 'some' : 'all'
}

/** One view, or the views of the granting rules, if they have exactly these fields. */
function viewsOf(
  { views, fields: about }: RowPlan,
  fields: readonly string[],
  granting: readonly Rule[],
): readonly string[] {
  const hold = (names: readonly string[]) => {
    const held = about.filter((field) => names.some((name) => views?.get(name)?.has(field)))
    return held.length === fields.length && held.every((field) => fields.includes(field))
  }
  const used = [...new Set(granting.flatMap((rule) => rule.views))].filter((view) => views?.has(view)).sort()
  const single = [...used, ...[...(views?.keys() ?? [])].sort()].find((name) => hold([name]))
  if (single !== undefined && fields.length > 0) return [single]
  return fields.length > 0 && hold(used) ? used : []
}

function isNamed(table: GrantTable, rules: readonly Rule[], field: string): boolean {
  return rules.some((rule) => table.names(rule, [field]))
}

/** Each rule once. */
export function rulesByLine(rules: readonly Rule[]): readonly Rule[] {
  return [...new Set(rules)].toSorted((a, b) => a.line - b.line)
}
