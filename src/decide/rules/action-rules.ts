/**
 * The rules about one action on one resource, grouped by effect, subject and relation column, each with the region where
 * it matches. What they grant together is computed for all situations at once. Fields are bits of a BigInt.
 */

import type { Action, Resource } from '../../resources/resource.ts'
import type { Rule } from '../policy.ts'
import type { Region } from '../relations/regions.ts'
import { type Extent, type PlacedRule, withoutAll } from './extents.ts'
import type { ResourceSpace } from './resource-space.ts'
import { relationColumnText } from './terms.ts'

type Effect = Rule['effect']

const NO_GROUPS: ReadonlyMap<string, RuleGroup> = new Map()

/** The rules of one effect and subject with the same relation column. */
export class RuleGroup implements Extent {
  readonly region: Region
  readonly #fieldsOf = new Map<Rule, bigint>()
  /** Fields that at least one of the rules names. */
  #fields = 0n
  /** Fields that at least two of them name. */
  #shared = 0n
  /** A rule was removed since both were computed. */
  #stale = false

  constructor(region: Region) {
    this.region = region
  }

  get fields(): bigint {
    this.#refresh()
    return this.#fields
  }

  get rules(): readonly PlacedRule[] {
    return [...this.#fieldsOf].map(([rule, fields]) => ({ rule, region: this.region, fields }))
  }

  /** The group without one of its rules (or one that isn't in it). */
  without(rule: Rule): Extent {
    this.#refresh()
    const mine = this.#fieldsOf.get(rule) ?? 0n
    return { region: this.region, fields: (this.#fields & ~mine) | this.#shared }
  }

  add({ rule, fields }: PlacedRule): void {
    this.#fieldsOf.set(rule, fields)
    this.#join(fields)
  }

  remove(rule: Rule): void {
    if (this.#fieldsOf.delete(rule)) this.#stale = true
  }

  /** Once for all removed rules: one by one, ten thousand would take a minute. */
  #refresh(): void {
    if (!this.#stale) return
    this.#stale = false
    this.#fields = 0n
    this.#shared = 0n
    for (const fields of this.#fieldsOf.values()) this.#join(fields)
  }

  #join(fields: bigint): void {
    this.#shared |= this.#fields & fields
    this.#fields |= fields
  }
}

export class ActionRules {
  readonly resource: Resource
  readonly action: Action
  /** Of all actions of the resource. */
  readonly space: ResourceSpace
  readonly #placed = new Map<Rule, PlacedRule>()
  readonly #groups: Readonly<Record<Effect, Map<string, Map<string, RuleGroup>>>> = {
    allow: new Map(),
    deny: new Map(),
  }

  constructor(resource: Resource, action: Action, space: ResourceSpace) {
    this.resource = resource
    this.action = action
    this.space = space
  }

  /** Undefined where the rule never matches. */
  placed(rule: Rule): PlacedRule | undefined {
    return this.#placed.get(rule)
  }

  /** The subjects that have rules of this effect here. */
  subjects(effect: Effect): IteratorObject<string> {
    return this.#groups[effect].keys()
  }

  groups(effect: Effect, subject: string): IteratorObject<RuleGroup> {
    return (this.#groups[effect].get(subject) ?? NO_GROUPS).values()
  }

  /** The rules of this effect about a caller with these subjects, perhaps without one rule. */
  *extents(effect: Effect, subjects: Iterable<string>, except?: Rule): IterableIterator<Extent> {
    for (const subject of subjects) {
      for (const group of this.groups(effect, subject)) yield except ? group.without(except) : group
    }
  }

  /** What is left of some allows for a caller with these subjects, beside the denies (semantics.md, "What is granted"). */
  granted(allows: Iterable<Extent>, subjects: ReadonlySet<string>): readonly Extent[] {
    const denies = [...this.extents('deny', subjects)]
    return [...allows].flatMap(({ fields, region }) => withoutAll(this.space.regions, [{ fields, region }], denies))
  }

  /** Where some field is granted to a caller with these subjects. */
  allowed(subjects: ReadonlySet<string>): Region {
    const granted = this.granted(this.extents('allow', subjects), subjects)
    return this.space.regions.any(granted.map(({ region }) => region))
  }

  add(placed: PlacedRule): void {
    const { rule, region } = placed
    const ofSubject = getOrMake(this.#groups[rule.effect], rule.subject, () => new Map<string, RuleGroup>())
    getOrMake(ofSubject, relationColumnText(rule), () => new RuleGroup(region)).add(placed)
    this.#placed.set(rule, placed)
  }

  /** Ignores the rule from now on; `placed` still knows it. */
  remove(rule: Rule): void {
    this.#groupOf(rule)?.remove(rule)
  }

  /** Undoes `remove`. */
  restore(rule: Rule): void {
    const placed = this.#placed.get(rule)
    if (placed) this.#groupOf(rule)?.add(placed)
  }

  #groupOf(rule: Rule): RuleGroup | undefined {
    return this.#groups[rule.effect].get(rule.subject)?.get(relationColumnText(rule))
  }
}

export function getOrMake<K, V>(index: Map<K, V>, key: K, make: () => V): V {
  const known = index.get(key)
  if (known !== undefined) return known
  const made = make()
  index.set(key, made)
  return made
}
