/**
 * What a policy says, evaluated directly: for tools that ask millions of questions, where Casbin would take minutes. Random
 * tests hold it equal to Casbin and to the oracle (test/review/evaluate.test.ts). The server never uses it.
 */

import type { Action, Resource } from '../../resources/resource.ts'
import type { Policy, Rule } from '../policy.ts'
import type { Has } from '../relations/relation-kind.ts'
import { couldHold } from './role-level.ts'

/** Everything that a decision depends on; `subjects` include `everyone` and what roles inherit (space.ts). */
export interface Situation {
  readonly subjects: ReadonlySet<string>
  readonly resource: Resource
  readonly action: Action
  readonly relations: ReadonlySet<string>
}

export interface Verdict {
  /** The granted fields; the pseudo-field `*` for an action without fields. Empty: refused. */
  readonly fields: ReadonlySet<string>
  readonly allows: readonly Rule[]
  readonly denies: readonly Rule[]
}

/** semantics.md, "What is granted". */
export function evaluate(policy: Policy, situation: Situation): Verdict {
  const matching = rulesFor(policy, situation).filter((rule) =>
    rule.relations.every((name) => situation.relations.has(name)),
  )
  const allows = matching.filter(({ effect }) => effect === 'allow')
  const denies = matching.filter(({ effect }) => effect === 'deny')
  const names = (rules: readonly Rule[], field: string) =>
    rules.some((rule) => ruleNames(policy, rule, situation.resource, field))
  const granted = fieldsOf(situation).filter((field) => names(allows, field) && !names(denies, field))
  return { fields: new Set(granted), allows, denies }
}

/** The rules whose subject, resource and action fit, whatever the relations; in the order of their lines. */
function rulesFor({ rules }: Policy, { subjects, resource, action }: Omit<Situation, 'relations'>): readonly Rule[] {
  return rules.filter((rule) => subjects.has(rule.subject) && isAbout(rule, { resource, action }))
}

/**
 * Of those the rules that count before an object is known: their relations could hold for a caller with these attributes,
 * and they name something of the resource.
 */
export function roleLevelRules(policy: Policy, about: Omit<Situation, 'relations'>, has: Has): readonly Rule[] {
  const { resource } = about
  const ownership = policy.ownership.get(resource.name)
  const fields = fieldsOf(about)
  return rulesFor(policy, about).filter(
    (rule) => couldHold(ownership, rule, has) && fields.some((field) => ruleNames(policy, rule, resource, field)),
  )
}

export function isAbout(rule: Rule, { resource, action }: Pick<Situation, 'resource' | 'action'>): boolean {
  return coversResource(rule, resource) && (rule.actions.includes('*') || rule.actions.includes(action.name))
}

/** Whether a rule names a field, in its fields column. */
export function ruleNames({ views }: Policy, rule: Rule, resource: Resource, field: string): boolean {
  return rule.views.some((view) => view === '*' || (views.get(resource.name)?.get(view)?.has(field) ?? false))
}

export function coversResource(rule: Rule, { name, builtIn }: Resource): boolean {
  return rule.resource === name || rule.resource === (builtIn ? 'system/*' : '*')
}

/** All fields that a decision about this action is about. */
export function fieldsOf({ resource, action }: Pick<Situation, 'resource' | 'action'>): readonly string[] {
  return action.hasFields ? [...resource.fields.keys()] : ['*']
}
