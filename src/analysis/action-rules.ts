/**
 * The rules about one action on one resource, grouped by effect, subject and relation column, each with the region where
 * it matches. What they grant together is computed for all situations at once. Fields are bits of a BigInt. A subject's
 * groups are made when they are asked for.
 */
import type { Rule } from '../decide/policy.ts'
import { performs, relationColumnText } from '../decide/rules/terms.ts'
import type { Action, Resource } from '../resources/resource.ts'
import { type Extent, NOWHERE, type Region, whereNamed, withoutAll } from './regions.ts'
import type { ResourceSpace } from './space.ts'

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
  readonly #groups: Readonly<Record<Effect, Map<string, readonly RuleGroup[]>>> = {
    allow: new Map(),
    deny: new Map(),
  }

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
    return this.#groups[effect].getOrInsertComputed(subject, () => this.#makeGroups(effect, subject))
  }

  #makeGroups(effect: Effect, subject: string): readonly RuleGroup[] {
    const groups = new Map<string, RuleGroup>()
    for (const rule of this.#rules.ofSubject(subject)) {
      const placed = rule.effect === effect ? this.placed(rule) : undefined
      if (!placed) continue
      const column = this.#rules.alikeOf(rule)?.column ?? ''
      groups.getOrInsertComputed(column, () => new RuleGroup(column, placed.region, this.#rules.removed)).add(placed)
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

  /** Whether some rule here is about the subject itself. */
  names(subject: string): boolean {
    return this.#rules.ofSubject(subject).length > 0
  }

  /** The sets of fields that rules name. */
  get masks(): readonly bigint[] {
    return [...new Set([...this.#extents.values()].map(({ fields }) => fields))]
  }

  /** The part of some allows that the denies leave to a caller with these subjects (semantics.md, "What is granted"). */
  granted(allows: readonly Extent[], subjects: ReadonlySet<string>): readonly Extent[] {
    const denies = this.extents('deny', subjects)
    return allows.flatMap(({ fields, region }) => withoutAll(this.space.regions, [{ fields, region }], denies))
  }

  /** Where some field is granted to a caller with these subjects. */
  allowed(subjects: ReadonlySet<string>): Region {
    const granted = this.granted(this.extents('allow', subjects), subjects)
    return this.space.regions.any(granted.map(({ region }) => region))
  }

  /** Where each of these fields is granted to a caller with these subjects. */
  grantedEach(bits: readonly bigint[], subjects: ReadonlySet<string>): readonly Region[] {
    const granted = this.granted(this.extents('allow', subjects), subjects)
    return bits.map((bit) => whereNamed(this.space.regions, granted, bit))
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

// ---- Groups ---------------------------------------------------------------------------------------------------------

/** A rule with the region where it matches, and the fields that it names. */
export interface PlacedRule extends Extent {
  readonly rule: Rule
}

/** The rules of one effect and subject with the same relation column, about one action on one resource. */
export class RuleGroup implements Extent {
  readonly column: string
  readonly region: Region
  readonly #all: PlacedRule[] = []
  readonly #removed: ReadonlySet<Rule>
  #rules: readonly PlacedRule[] = this.#all
  /** Fields that at least one of the rules names. */
  #fields = 0n
  /** Fields that at least two of them name. */
  #shared = 0n
  /** Rules were added, removed or restored since these were computed. */
  #stale = true

  /** `removed`: rules that don't count at present. */
  constructor(column: string, region: Region, removed: ReadonlySet<Rule>) {
    this.column = column
    this.region = region
    this.#removed = removed
  }

  get fields(): bigint {
    this.#refresh()
    return this.#fields
  }

  get rules(): readonly PlacedRule[] {
    this.#refresh()
    return this.#rules
  }

  /** The group without one of its rules. */
  without({ fields }: PlacedRule): Extent {
    this.#refresh()
    return { region: this.region, fields: (this.#fields & ~fields) | this.#shared }
  }

  add(placed: PlacedRule): void {
    this.#all.push(placed)
    this.#stale = true
  }

  /** One of its rules was removed or restored. */
  changed(): void {
    this.#stale = true
  }

  /** Once for all changes: one by one, ten thousand would take a minute. */
  #refresh(): void {
    if (!this.#stale) return
    this.#stale = false
    this.#fields = 0n
    this.#shared = 0n
    this.#rules = this.#removed.size === 0 ? this.#all : this.#all.filter(({ rule }) => !this.#removed.has(rule))
    for (const { fields } of this.#rules) {
      this.#shared |= this.#fields & fields
      this.#fields |= fields
    }
  }
}

// ---- Rules that say the same about different subjects: whatever is found about one of them is true of all -----------

export interface AlikeRules {
  /** Different for each of them. */
  readonly id: number
  /** Their relation column. */
  readonly column: string
  readonly rules: readonly Rule[]
}

/** For each rule those that differ from it only by their subject, line and end; itself among them. */
export function alikeRules(rules: readonly Rule[]): ReadonlyMap<Rule, AlikeRules> {
  const groups = [...Map.groupBy(rules, textOf).values()].map((some, id) => {
    return { id, column: some[0] ? relationColumnText(some[0]) : 'any', rules: some }
  })
  return new Map(groups.flatMap((alike) => alike.rules.map((rule) => [rule, alike] as const)))
}

function textOf(rule: Rule): string {
  return [rule.effect, rule.resource, rule.actions.join('|'), relationColumnText(rule), rule.views.join('|')].join(' ')
}

/** Rules about one action on one resource. */
export function groupRules(rules: readonly Rule[]): ResourceRules {
  const alike = alikeRules(rules)
  const bySubject = Map.groupBy(rules, ({ subject }) => subject)
  return {
    alike: [...new Set(alike.values())],
    ofSubject: (subject) => bySubject.get(subject) ?? [],
    alikeOf: (rule) => alike.get(rule),
    removed: new Set(),
  }
}
