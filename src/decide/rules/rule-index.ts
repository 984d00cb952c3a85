/**
 * Indexes the rules of a policy by resource and action, and the subjects of each caller, so that checks of 10,000 rules
 * are cheap.
 */

import type { Action, Resource, Resources } from '../../resources/resource.ts'
import type { Policy, RoleLink, Rule } from '../policy.ts'
import { ActionRules, getOrMake, type RuleMask } from './action-rules.ts'
import { decidedFields } from './rule.ts'
import { namesIn } from './terms.ts'

export class ActionRulesIndex {
  readonly #policy: Policy
  readonly #links: ReadonlyMap<string, readonly RoleLink[]>
  readonly #subjects = new Map<string, ReadonlySet<string>>()
  readonly #byAction = new Map<string, ActionRules>()
  readonly #byRule = new Map<Rule, ActionRules[]>()

  constructor(policy: Policy, { byName }: Resources) {
    this.#policy = policy
    this.#links = Map.groupBy(policy.links, ({ role }) => role)
    const rules = Map.groupBy(policy.rules, ({ resource }) => resource)
    for (const resource of byName.values()) {
      const wildcard = rules.get(resource.builtIn ? 'system/*' : '*') ?? []
      this.#place(resource, [...(rules.get(resource.name) ?? []), ...wildcard])
    }
  }

  rulesOf(resource: string, action: string): ActionRules | undefined {
    return this.#byAction.get(JSON.stringify([resource, action]))
  }

  /** The resources and actions for which the rule can match; empty if it never can. */
  placesOf(rule: Rule): readonly ActionRules[] {
    return this.#byRule.get(rule) ?? []
  }

  /** Ignores the rule from now on. */
  remove(rule: Rule): void {
    for (const actionRules of this.placesOf(rule)) actionRules.remove(rule)
  }

  /** Undoes `remove`. */
  restore(rule: Rule): void {
    for (const actionRules of this.placesOf(rule)) actionRules.restore(rule)
  }

  /** The subjects of a caller who has this subject: also `everyone`, and all that it inherits. */
  subjectsOf(subject: string): ReadonlySet<string> {
    const known = this.#subjects.get(subject)
    if (known) return known
    const made = new Set(['everyone', subject])
    // A Set's iterator also visits what is added while it runs.
    for (const name of made) for (const { inherits } of this.#links.get(name) ?? []) made.add(inherits)
    this.#subjects.set(subject, made)
    return made
  }

  #place(resource: Resource, rules: readonly Rule[]): void {
    const masks = masksOf(this.#policy, resource)
    for (const action of resource.actions.values()) {
      const actionRules = new ActionRules(resource, action)
      this.#byAction.set(JSON.stringify([resource.name, action.name]), actionRules)
      for (const rule of rules) {
        const mask = performs(rule, action) ? masks.maskOf(rule, action) : undefined
        if (!mask) continue
        actionRules.add(mask)
        getOrMake(this.#byRule, rule, () => []).push(actionRules)
      }
    }
  }
}

function performs({ actions }: Rule, { name }: Action): boolean {
  return actions.includes('*') || actions.includes(name)
}

/** Whether one caller can have both subjects: nobody is two users, or has a role without credentials. */
export function canBeOneCaller(a: string, b: string): boolean {
  if (a === b || a === 'everyone' || b === 'everyone') return true
  if (a === 'anonymous' || b === 'anonymous') return false
  return !(a.startsWith('user:') && b.startsWith('user:'))
}

interface Masks {
  maskOf(rule: Rule, action: Action): RuleMask | undefined
}

function masksOf({ ownership, views }: Policy, resource: Resource): Masks {
  const relationBits = bitsOf(ownership.get(resource.name)?.relations.keys() ?? [])
  const fieldBits = bitsOf(resource.fields.keys())
  const viewMasks = new Map(
    [...(views.get(resource.name) ?? [])].map(([view, fields]) => [view, join([...fields], fieldBits)]),
  )
  const whole = (action: Action) => (1n << BigInt(decidedFields({ resource, action }).length)) - 1n
  const fieldsNamed = (rule: Rule, action: Action) => {
    if (rule.views.includes('*')) return whole(action)
    return action.hasFields ? join(rule.views, viewMasks) : 0n
  }
  return {
    maskOf(rule, action) {
      const names = namesIn(rule)
      if (!names.every((name) => relationBits.has(name))) return undefined
      const relations = join(names, relationBits)
      // OPTIONS concerns no object (docs/decisions/0001).
      if (action.name === 'options' && relations !== 0n) return undefined
      const fields = fieldsNamed(rule, action)
      return fields === 0n ? undefined : { rule, relations, fields }
    },
  }
}

function bitsOf(names: Iterable<string>): ReadonlyMap<string, bigint> {
  return new Map([...names].map((name, i) => [name, 1n << BigInt(i)]))
}

function join(names: readonly string[], bits: ReadonlyMap<string, bigint>): bigint {
  return names.reduce((mask, name) => mask | (bits.get(name) ?? 0n), 0n)
}
