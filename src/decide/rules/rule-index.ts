/**
 * Indexes the rules of a policy by resource and action, and the subjects of each caller, so that checks of 10,000 rules
 * are cheap.
 */

import type { Resource, Resources } from '../../resources/resource.ts'
import type { Policy, RoleLink, Rule } from '../policy.ts'
import { NOWHERE, type Region } from '../relations/regions.ts'
import { ActionRules, getOrMake } from './action-rules.ts'
import { ResourceSpace } from './resource-space.ts'
import { performs } from './rule.ts'

export class ActionRulesIndex {
  readonly #policy: Policy
  readonly #links: ReadonlyMap<string, readonly RoleLink[]>
  readonly #subjects = new Map<string, ReadonlySet<string>>()
  readonly #byAction = new Map<string, ActionRules>()
  readonly #byRule = new Map<Rule, ActionRules[]>()
  readonly #tried = new Map<Rule, Region[]>()

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

  /** Where the rule matches for each resource and action that knows its names and views: perhaps nowhere. */
  triedFor(rule: Rule): readonly Region[] {
    return this.#tried.get(rule) ?? []
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
    const space = new ResourceSpace(this.#policy, resource)
    for (const action of resource.actions.values()) {
      const actionRules = new ActionRules(resource, action, space)
      this.#byAction.set(JSON.stringify([resource.name, action.name]), actionRules)
      const place = space.placesOf(action)
      for (const rule of rules) {
        const placed = performs(rule, action) ? place(rule) : undefined
        if (!placed) continue
        getOrMake(this.#tried, rule, () => []).push(placed.region)
        if (placed.region === NOWHERE) continue
        actionRules.add(placed)
        getOrMake(this.#byRule, rule, () => []).push(actionRules)
      }
    }
  }
}

/** Whether one caller can have both subjects: nobody is two users, or has a role without credentials. */
export function canBeOneCaller(a: string, b: string): boolean {
  if (a === b || a === 'everyone' || b === 'everyone') return true
  if (a === 'anonymous' || b === 'anonymous') return false
  return !(a.startsWith('user:') && b.startsWith('user:'))
}
