/**
 * The rules about one action on one resource, grouped by effect, subject and set of relations. A few operations on bit
 * masks compute what they grant together. Masks are BigInts, one bit for each relation or field of the resource.
 */

import type { Action, Resource } from '../../resources/resource.ts'
import type { Rule } from '../policy.ts'

type Effect = Rule['effect']

const NO_GROUPS: ReadonlyMap<bigint, RuleGroup> = new Map()

/** A rule as masks: the relations that it asks for, and the fields that it names. */
export interface RuleMask {
  readonly rule: Rule
  readonly relations: bigint
  readonly fields: bigint
}

/** The rules of one effect and subject that ask for the same relations. */
export class RuleGroup {
  readonly relations: bigint
  readonly #masks = new Map<Rule, bigint>()
  /** Fields that at least one of the rules names. */
  #fields = 0n
  /** Fields that at least two of them name. */
  #shared = 0n
  /** A rule was removed since both masks were computed. */
  #stale = false

  constructor(relations: bigint) {
    this.relations = relations
  }

  get fields(): bigint {
    this.#refresh()
    return this.#fields
  }

  get masks(): readonly RuleMask[] {
    return [...this.#masks].map(([rule, fields]) => ({ rule, relations: this.relations, fields }))
  }

  /** The fields that the rules name without one of them (which needn't be in the group). */
  fieldsWithout(rule: Rule): bigint {
    this.#refresh()
    const mine = this.#masks.get(rule) ?? 0n
    return (this.#fields & ~mine) | this.#shared
  }

  add({ rule, fields }: RuleMask): void {
    this.#masks.set(rule, fields)
    this.#join(fields)
  }

  remove(rule: Rule): void {
    if (this.#masks.delete(rule)) this.#stale = true
  }

  /** Once for all removed rules: one by one, ten thousand would take a minute. */
  #refresh(): void {
    if (!this.#stale) return
    this.#stale = false
    this.#fields = 0n
    this.#shared = 0n
    for (const fields of this.#masks.values()) this.#join(fields)
  }

  #join(fields: bigint): void {
    this.#shared |= this.#fields & fields
    this.#fields |= fields
  }
}

export class ActionRules {
  readonly resource: Resource
  readonly action: Action
  readonly #masks = new Map<Rule, RuleMask>()
  readonly #groups: Readonly<Record<Effect, Map<string, Map<bigint, RuleGroup>>>> = {
    allow: new Map(),
    deny: new Map(),
  }

  constructor(resource: Resource, action: Action) {
    this.resource = resource
    this.action = action
  }

  /** Undefined where the rule never matches. */
  maskOf(rule: Rule): RuleMask | undefined {
    return this.#masks.get(rule)
  }

  /** The subjects that have rules of this effect here. */
  subjects(effect: Effect): IteratorObject<string> {
    return this.#groups[effect].keys()
  }

  groups(effect: Effect, subject: string): IteratorObject<RuleGroup> {
    return (this.#groups[effect].get(subject) ?? NO_GROUPS).values()
  }

  /** The fields that rules of this effect name for these subjects, when exactly these relations hold. */
  named(effect: Effect, subjects: ReadonlySet<string>, relations: bigint): bigint {
    return this.#join(effect, subjects, relations, (group) => group.fields)
  }

  /** The same without one rule. */
  namedWithout(rule: Rule, effect: Effect, subjects: ReadonlySet<string>, relations: bigint): bigint {
    return this.#join(effect, subjects, relations, (group) => group.fieldsWithout(rule))
  }

  /** semantics.md, "What is granted". */
  granted(subjects: ReadonlySet<string>, relations: bigint): bigint {
    return this.named('allow', subjects, relations) & ~this.named('deny', subjects, relations)
  }

  add(mask: RuleMask): void {
    const { effect, subject } = mask.rule
    const ofSubject = getOrMake(this.#groups[effect], subject, () => new Map<bigint, RuleGroup>())
    getOrMake(ofSubject, mask.relations, () => new RuleGroup(mask.relations)).add(mask)
    this.#masks.set(mask.rule, mask)
  }

  /** Ignores the rule from now on; `maskOf` still knows it. */
  remove(rule: Rule): void {
    const mask = this.#masks.get(rule)
    if (mask) this.#groups[rule.effect].get(rule.subject)?.get(mask.relations)?.remove(rule)
  }

  /** Undoes `remove`. */
  restore(rule: Rule): void {
    const mask = this.#masks.get(rule)
    if (mask) this.#groups[rule.effect].get(rule.subject)?.get(mask.relations)?.add(mask)
  }

  #join(
    effect: Effect,
    subjects: ReadonlySet<string>,
    relations: bigint,
    fieldsOf: (group: RuleGroup) => bigint,
  ): bigint {
    const bySubject = this.#groups[effect]
    let named = 0n
    for (const subject of subjects) {
      for (const group of bySubject.get(subject)?.values() ?? []) {
        if (isWithin(group.relations, relations)) named |= fieldsOf(group)
      }
    }
    return named
  }
}

/** Whether all bits of one mask are in another. */
export function isWithin(mask: bigint, other: bigint): boolean {
  return (mask & ~other) === 0n
}

export function getOrMake<K, V>(index: Map<K, V>, key: K, make: () => V): V {
  const known = index.get(key)
  if (known !== undefined) return known
  const made = make()
  index.set(key, made)
  return made
}
