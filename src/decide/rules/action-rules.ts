/**
 * The rules about one action on one resource, grouped by effect, subject and relation column, each with the region where
 * it matches. What they grant together is computed for all situations at once. Fields are bits of a BigInt. A subject's
 * groups are made when they are asked for.
 */

import type { Action, Resource } from '../../resources/resource.ts'
import type { Rule } from '../policy.ts'
import { NOWHERE, type Region } from '../relations/regions.ts'
import type { AlikeRules } from './alike-rules.ts'
import { type Extent, type PlacedRule, withoutAll } from './extents.ts'
import type { ResourceSpace } from './resource-space.ts'
import { performs } from './rule.ts'
import { RuleGroup } from './rule-group.ts'

type Effect = Rule['effect']

/** The rules about one resource. */
export interface ResourceRules {
  readonly alike: readonly AlikeRules[]
  ofSubject(subject: string): readonly Rule[]
  /** Undefined for a rule about other resources. */
  alikeOf(rule: Rule): AlikeRules | undefined
  /** Rules that don't count at present. */
  readonly removed: ReadonlySet<Rule>
}

export class ActionRules {
  readonly resource: Resource
  readonly action: Action
  /** Of all actions of the resource. */
  readonly space: ResourceSpace
  readonly #rules: ResourceRules
  /** Where rules match that do; an empty region for those that never do, though their names and views count. */
  readonly #extents: ReadonlyMap<AlikeRules, Extent>
  readonly #subjects: Partial<Record<Effect, ReadonlySet<string>>> = {}
  readonly #groups: Readonly<Record<Effect, Map<string, readonly RuleGroup[]>>> = { allow: new Map(), deny: new Map() }

  constructor(resource: Resource, action: Action, space: ResourceSpace, rules: ResourceRules) {
    this.resource = resource
    this.action = action
    this.space = space
    this.#rules = rules
    const extentOf = space.extentsOf(action)
    this.#extents = new Map(
      rules.alike.flatMap((alike) => {
        const [rule] = alike.rules
        const extent = rule && performs(rule, action) ? extentOf(rule) : undefined
        return extent ? [[alike, extent] as const] : []
      }),
    )
  }

  /** Rules whose names and views count here: true if they can match, false if they never do. */
  get counting(): IteratorObject<readonly [AlikeRules, boolean]> {
    return this.#extents.entries().map(([alike, { region }]) => [alike, region !== NOWHERE] as const)
  }

  /** Undefined where the rule never matches. */
  placed(rule: Rule): PlacedRule | undefined {
    const alike = this.#rules.alikeOf(rule)
    const extent = alike && this.#extents.get(alike)
    return extent && extent.region !== NOWHERE ? { rule, ...extent } : undefined
  }

  /** The subjects that have rules of this effect here. */
  subjects(effect: Effect): ReadonlySet<string> {
    this.#subjects[effect] ??= new Set(
      [...this.#extents].flatMap(([{ rules }, { region }]) =>
        rules[0]?.effect === effect && region !== NOWHERE ? rules.map(({ subject }) => subject) : [],
      ),
    )
    return this.#subjects[effect]
  }

  groups(effect: Effect, subject: string): readonly RuleGroup[] {
    return getOrMake(this.#groups[effect], subject, () => this.#makeGroups(effect, subject))
  }

  #makeGroups(effect: Effect, subject: string): readonly RuleGroup[] {
    const groups = new Map<string, RuleGroup>()
    for (const rule of this.#rules.ofSubject(subject)) {
      const placed = rule.effect === effect ? this.placed(rule) : undefined
      if (!placed) continue
      const column = this.#rules.alikeOf(rule)?.column ?? ''
      getOrMake(groups, column, () => new RuleGroup(column, placed.region, this.#rules.removed)).add(placed)
    }
    return [...groups.values()]
  }

  /** The first line of a group. */
  firstLine(effect: Effect, subject: string, column: string): number {
    const rules = this.#rules.ofSubject(subject).filter((rule) => rule.effect === effect && this.placed(rule))
    return Math.min(...rules.filter((rule) => this.#rules.alikeOf(rule)?.column === column).map(({ line }) => line))
  }

  /** The rules of this effect about a caller with these subjects, perhaps without one rule. */
  extents(effect: Effect, subjects: Iterable<string>, except?: PlacedRule): readonly Extent[] {
    const mine = except && this.#groupOf(except.rule)
    const found: Extent[] = []
    for (const subject of subjects) {
      for (const group of this.groups(effect, subject)) {
        found.push(except && group === mine ? group.without(except) : group)
      }
    }
    return found
  }

  /** What is left of some allows for a caller with these subjects, beside the denies (semantics.md, "What is granted"). */
  granted(allows: readonly Extent[], subjects: ReadonlySet<string>): readonly Extent[] {
    const denies = this.extents('deny', subjects)
    return allows.flatMap(({ fields, region }) => withoutAll(this.space.regions, [{ fields, region }], denies))
  }

  /** Where some field is granted to a caller with these subjects. */
  allowed(subjects: ReadonlySet<string>): Region {
    const granted = this.granted(this.extents('allow', subjects), subjects)
    return this.space.regions.any(granted.map(({ region }) => region))
  }

  /** The rule was removed or restored. */
  changed(rule: Rule): void {
    if (this.#groups[rule.effect].has(rule.subject)) this.#groupOf(rule)?.changed()
  }

  #groupOf(rule: Rule): RuleGroup | undefined {
    const column = this.#rules.alikeOf(rule)?.column
    return this.groups(rule.effect, rule.subject).find((group) => group.column === column)
  }
}

export function getOrMake<K, V>(index: Map<K, V>, key: K, make: () => V): V {
  const known = index.get(key)
  if (known !== undefined) return known
  const made = make()
  index.set(key, made)
  return made
}
