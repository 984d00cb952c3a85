/**
 * The rules about one action on one resource, so arranged that what they grant together is a few operations on bit masks:
 * by effect, subject and set of relations. Masks are BigInts, one bit a relation or field of the resource.
 */
import type { Rule } from '../../../decide/policy.ts'
import type { Action, Resource } from '../../../resources/resource.ts'

type Effect = Rule['effect']

const NO_GROUPS: ReadonlyMap<bigint, Group> = new Map()

/** The relations that a rule asks for, and the fields that it names. */
export interface Reach {
  readonly rule: Rule
  readonly relations: bigint
  readonly fields: bigint
}

/** The rules of one effect and subject that ask for the same relations. */
export class Group {
  readonly relations: bigint
  readonly #reaches = new Map<Rule, bigint>()
  /** What at least one of the rules names. */
  #fields = 0n
  /** What at least two of them name. */
  #shared = 0n
  /** Whether one was removed since both were joined. */
  #stale = false

  constructor(relations: bigint) {
    this.relations = relations
  }

  get fields(): bigint {
    this.#refresh()
    return this.#fields
  }

  get reaches(): readonly Reach[] {
    return [...this.#reaches].map(([rule, fields]) => ({ rule, relations: this.relations, fields }))
  }

  /** What the rules name when one of them (which needn't be here) isn't counted. */
  fieldsWithout(rule: Rule): bigint {
    this.#refresh()
    const mine = this.#reaches.get(rule) ?? 0n
    return (this.#fields & ~mine) | this.#shared
  }

  add({ rule, fields }: Reach): void {
    this.#reaches.set(rule, fields)
    this.#join(fields)
  }

  remove(rule: Rule): void {
    if (this.#reaches.delete(rule)) this.#stale = true
  }

  /** Once for all that were removed: one by one, ten thousand would take a minute. */
  #refresh(): void {
    if (!this.#stale) return
    this.#stale = false
    this.#fields = 0n
    this.#shared = 0n
    for (const fields of this.#reaches.values()) this.#join(fields)
  }

  #join(fields: bigint): void {
    this.#shared |= this.#fields & fields
    this.#fields |= fields
  }
}

export class Area {
  readonly resource: Resource
  readonly action: Action
  readonly #reaches = new Map<Rule, Reach>()
  readonly #groups: Readonly<Record<Effect, Map<string, Map<bigint, Group>>>> = { allow: new Map(), deny: new Map() }

  constructor(resource: Resource, action: Action) {
    this.resource = resource
    this.action = action
  }

  /** Undefined where the rule never matches. */
  reachOf(rule: Rule): Reach | undefined {
    return this.#reaches.get(rule)
  }

  /** The subjects that have rules of this effect here. */
  subjects(effect: Effect): IteratorObject<string> {
    return this.#groups[effect].keys()
  }

  groups(effect: Effect, subject: string): IteratorObject<Group> {
    return (this.#groups[effect].get(subject) ?? NO_GROUPS).values()
  }

  /** The fields that rules of this effect name for these subjects, when exactly these relations hold. */
  named(effect: Effect, subjects: ReadonlySet<string>, relations: bigint): bigint {
    return this.#join(effect, subjects, relations, (group) => group.fields)
  }

  /** The same as if one rule weren't there. */
  namedWithout(rule: Rule, effect: Effect, subjects: ReadonlySet<string>, relations: bigint): bigint {
    return this.#join(effect, subjects, relations, (group) => group.fieldsWithout(rule))
  }

  /** semantics.md, "What is granted". */
  granted(subjects: ReadonlySet<string>, relations: bigint): bigint {
    return this.named('allow', subjects, relations) & ~this.named('deny', subjects, relations)
  }

  add(reach: Reach): void {
    const { effect, subject } = reach.rule
    const ofSubject = getOrMake(this.#groups[effect], subject, () => new Map<bigint, Group>())
    getOrMake(ofSubject, reach.relations, () => new Group(reach.relations)).add(reach)
    this.#reaches.set(reach.rule, reach)
  }

  /** The rule counts no more; `reachOf` still tells what it would reach. */
  remove(rule: Rule): void {
    const reach = this.#reaches.get(rule)
    if (reach) this.#groups[rule.effect].get(rule.subject)?.get(reach.relations)?.remove(rule)
  }

  /** Undoes `remove`. */
  restore(rule: Rule): void {
    const reach = this.#reaches.get(rule)
    if (reach) this.#groups[rule.effect].get(rule.subject)?.get(reach.relations)?.add(reach)
  }

  #join(effect: Effect, subjects: ReadonlySet<string>, relations: bigint, fieldsOf: (group: Group) => bigint): bigint {
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

export function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
