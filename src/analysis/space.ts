/**
 * The situations of a decision, as variables of regions: which leaf relations hold for the stored object and for the
 * result of a write, which conditions hold, and whether the first or the second decision is asked. So a rule is one
 * region, and rules become operations on regions, however many situations there are.
 */
import { changesStored, operationsOf } from '../decide/callers-and-routes.ts'
import type { Policy, Rule, Term } from '../decide/policy.ts'
import { comparedFields, kindOf, leavesOf, needsCaller } from '../decide/relations/all-kinds.ts'
import type { Relation } from '../decide/relations/relation-kind.ts'
import { conditionNeedsCaller } from '../decide/request-conditions/all-conditions.ts'
import { decidedFields, namesIn, relationColumnText } from '../decide/rules/terms.ts'
import type { Action, Resource } from '../resources/resource.ts'
import { possibleRegion, whereHolds } from './possible-sets.ts'
import { EVERYWHERE, type Extent, NOWHERE, type Region, Regions } from './regions.ts'

/** Where something holds: for the stored object, for a result with the stored states, for the result. */
export interface Moments {
  readonly stored: Region
  readonly mixed: Region
  readonly proposed: Region
}

type Moment = keyof Moments

/** The variables of a space: one says which decision is asked, then two for each leaf or condition. */
export const SECOND = 0

export class RuleSpace {
  readonly regions: Regions
  /** Where the first decision is asked, and where the second one is. */
  readonly first: Region
  readonly second: Region
  readonly #storedSides = new Map<Region, Region>()

  constructor(regions: Regions) {
    this.regions = regions
    this.second = this.regions.where(SECOND)
    this.first = this.regions.not(this.second)
  }

  /** Where the i-th name holds, if it is this leaf; a condition if there is no leaf. */
  moments(i: number, leaf: Relation | undefined): Moments {
    const { before, after } = variablesOf(i)
    const stored = this.regions.where(before)
    if (!leaf) return { stored, mixed: stored, proposed: stored }
    const proposed = this.regions.where(after)
    return { stored, proposed, mixed: kindOf(leaf).onResultOfWrite === 'stored' ? stored : proposed }
  }

  /** Where a relation holds, which follows from its leaves. */
  follows(relation: Relation, leaf: (relation: Relation) => Moments): Moments {
    const at = (moment: Moment) => whereHolds(this.regions, relation, (one) => leaf(one)[moment])
    return { stored: at('stored'), mixed: at('mixed'), proposed: at('proposed') }
  }

  /**
   * Where the rule matches (decide/rules/terms.ts says the same for one situation). `momentsOf` is undefined for a name
   * that can't count; `changes`: the action has a second decision.
   */
  matches(rule: Rule, momentsOf: (name: string) => Moments | undefined, changes: boolean): Region {
    const { before, after = [], effect } = rule
    const { regions, first, second } = this
    if ([...before, ...after].some(({ name }) => !momentsOf(name))) return NOWHERE
    const fits = (terms: readonly Term[], moment: (term: Term) => Moment): Region =>
      regions.all(
        terms.map((term) => {
          const where = momentsOf(term.name)?.[moment(term)] ?? NOWHERE
          return term.negated ? regions.not(where) : where
        }),
      )
    const stored = fits(before, () => 'stored')
    const onObject = effect === 'deny' && rule.after ? NOWHERE : stored
    if (!changes) return regions.both(first, onObject)
    const isOnTheRight = (name: string) => after.some((term) => term.name === name)
    const mixed = fits(before, ({ name }) => (isOnTheRight(name) ? 'stored' : 'mixed'))
    const left = effect === 'allow' ? regions.both(stored, mixed) : regions.either(stored, mixed)
    const right = fits(after, () => 'proposed')
    return regions.either(regions.both(first, onObject), regions.all([second, left, right]))
  }

  /** The situations that objects can be in; `leaves` are the leaves among the names, by their positions. */
  possible(leaves: ReadonlyMap<Relation, number>, resource: Resource): Region {
    const { regions } = this
    const relations = [...leaves.keys()]
    const at = (moment: Moment) => (leaf: Relation) => this.moments(leaves.get(leaf) ?? -1, leaf)[moment]
    const possibleAt = (moment: Moment) => possibleRegion(regions, relations, resource, at(moment))
    const kept = relations
      .filter((leaf) => neverChanges(leaf, resource))
      .map((leaf) => regions.same(at('stored')(leaf), at('proposed')(leaf)))
    return regions.both(
      possibleAt('stored'),
      regions.either(this.first, regions.all([possibleAt('proposed'), ...kept])),
    )
  }

  /** The stored objects of a region, whichever decision is asked, and whatever the result. */
  storedSide(region: Region): Region {
    return this.#storedSides.getOrInsertComputed(region, () =>
      this.regions.whatever(region, (variable) => !isStored(variable)),
    )
  }
}

/** The variables of the i-th name, for the stored object and for the result. */
export function variablesOf(i: number): { readonly before: number; readonly after: number } {
  return { before: 2 * i + 1, after: 2 * i + 2 }
}

/** Whether it is about the stored object or the request, not about the result or the decision. */
function isStored(variable: number): boolean {
  return variable % 2 === 1
}

/** No write changes the fields that the relation looks at; only the server sets `updatedAt`, at each write. */
function neverChanges(leaf: Relation, { fields }: Resource): boolean {
  return comparedFields(leaf).every((name) => fields.get(name)?.readOnly && name !== 'updatedAt')
}

/** Options and built-in routes are decided as if no relation were declared (docs/decisions/0045). */
export function concernsObjects({ builtIn }: Resource, { name }: Action): boolean {
  return !builtIn && name !== 'options'
}

/** Which of its decisions an action has: on an object, on the result of a write, or both. */
export interface Decisions {
  /** Some method changes a stored object, so that the result is decided too. */
  readonly changes: boolean
  /** Some method does something else. */
  readonly looks: boolean
}

export function decisionsOf(resource: Resource, { name }: Action): Decisions {
  const all = operationsOf(resource, name)
  return { changes: all.some(changesStored), looks: !all.every(changesStored) }
}

/** What holds in one situation: relations of the stored object and of the result of a write, and conditions. */
export interface SituationNames {
  readonly stored: readonly string[]
  readonly proposed: readonly string[]
  readonly conditions: readonly string[]
}

/** Where a policy has its names in a space that it shares with another one. */
interface SharedSpace {
  readonly regions: Regions
  readonly relations: readonly Relation[]
  readonly leaves: ReadonlyMap<Relation, number>
  readonly conditions: ReadonlyMap<string, number>
}

/** The situations of one resource, with the names that the rules of one policy may use, and where its rules match. */
export class ResourceSpace extends RuleSpace {
  readonly #resource: Resource
  readonly #views: ReadonlyMap<string, bigint>
  readonly #names = new Map<string, Moments>()
  readonly #conditions: ReadonlyMap<string, Moments>
  readonly #possible: Region
  readonly #leaves: ReadonlyMap<Relation, number>
  readonly #relations: readonly Relation[]
  readonly #declared: Policy['conditions']
  /** The places of conditions among the variables. */
  readonly #places: ReadonlyMap<string, number>

  /** In a shared space, what is possible is left to those who share it. */
  constructor({ ownership, conditions, views }: Policy, resource: Resource, shared?: SharedSpace) {
    super(shared?.regions ?? new Regions(resource.name))
    this.#resource = resource
    const relations = shared?.relations ?? [...(ownership.get(resource.name)?.relations.values() ?? [])]
    const leaves = shared?.leaves ?? new Map([...new Set(relations.flatMap(leavesOf))].map((leaf, i) => [leaf, i]))
    const places = shared?.conditions ?? new Map([...conditions.keys()].map((name, i) => [name, leaves.size + i]))
    this.#leaves = leaves
    this.#relations = relations
    this.#declared = conditions
    this.#places = places
    this.#conditions = new Map([...places].map(([name, i]) => [name, this.moments(i, undefined)]))
    for (const relation of relations) {
      this.#names.set(
        relation.name,
        this.follows(relation, (leaf) => this.moments(leaves.get(leaf) ?? -1, leaf)),
      )
    }
    for (const [name, moments] of this.#conditions) this.#names.set(name, moments)
    this.#possible = shared ? EVERYWHERE : this.possible(leaves, resource)
    const fieldBits = bitsOf(resource.fields.keys())
    this.#views = new Map(
      [...(views.get(resource.name) ?? [])].map(([view, fields]) => [view, join([...fields], fieldBits)]),
    )
  }

  /** Where a rule matches about an action, and its fields; undefined if a name or view doesn't count there. */
  extentsOf(action: Action): (rule: Rule) => Extent | undefined {
    const names = concernsObjects(this.#resource, action) ? this.#names : this.#conditions
    const { changes } = decisionsOf(this.#resource, action)
    const regions = new Map<string, Region>()
    return (rule) => {
      if (!namesIn(rule).every((name) => names.has(name))) return undefined
      const fields = this.#fieldsNamed(rule, action)
      if (fields === 0n) return undefined
      const region = regions.getOrInsertComputed(`${rule.effect} ${relationColumnText(rule)}`, () =>
        this.regions.both(
          this.matches(rule, (name) => names.get(name), changes),
          this.#possible,
        ),
      )
      return { region, fields }
    }
  }

  /** Where no write changes whether one of these leaves holds. */
  whereKept(isKept: (leaf: Relation) => boolean): Region {
    const kept = [...this.#leaves].filter(([leaf]) => isKept(leaf))
    return this.regions.all(
      kept.map(([leaf, i]) => {
        const { stored, proposed } = this.moments(i, leaf)
        return this.regions.same(stored, proposed)
      }),
    )
  }

  /** Where a leaf holds. */
  ofLeaf(leaf: Relation): Moments {
    return this.moments(this.#leaves.get(leaf) ?? -1, leaf)
  }

  /** Where nothing holds that needs a caller with credentials. */
  get withoutCredentials(): Region {
    const { regions } = this
    const leaves = this.leaves.filter(needsCaller).map((leaf) => this.ofLeaf(leaf))
    const conditions = [...this.#conditions].flatMap(([name, moments]) => {
      const condition = this.#declared.get(name)
      return condition && conditionNeedsCaller(condition) ? [moments] : []
    })
    const held = [...leaves, ...conditions].flatMap(({ stored, proposed }) => [stored, proposed])
    return regions.not(regions.any(held))
  }

  /** The variables of the leaves and the conditions that these names are about, for the stored object and the result. */
  variablesOf(names: ReadonlySet<string>): Readonly<Record<'before' | 'after', readonly number[]>> {
    const leaves = this.#relations.filter(({ name }) => names.has(name)).flatMap(leavesOf)
    const ofLeaves = leaves.map((leaf) => variablesOf(this.#leaves.get(leaf) ?? -1))
    const ofConditions = [...this.#places].filter(([name]) => names.has(name)).map(([, i]) => variablesOf(i))
    return {
      before: [...ofLeaves, ...ofConditions].map(({ before }) => before),
      after: ofLeaves.map(({ after }) => after),
    }
  }

  /** The names that hold where exactly these variables do. */
  situationOf(holding: ReadonlySet<number>): SituationNames {
    const named = (moment: Moment, isCondition: boolean) =>
      [...this.#names]
        .filter(([name, moments]) => {
          return this.#conditions.has(name) === isCondition && this.regions.has(moments[moment], holding)
        })
        .map(([name]) => name)
    return { stored: named('stored', false), proposed: named('proposed', false), conditions: named('stored', true) }
  }

  /** The situations that objects can be in. */
  get possibleSituations(): Region {
    return this.#possible
  }

  /**
   * Says regions of this space in other regions; `held` says where a leaf or a condition holds there, `second` where the
   * second decision is asked.
   */
  translatorTo(
    into: Regions,
    held: (name: Relation | string, moment: 'stored' | 'proposed') => Region,
    second: Region,
  ): (region: Region) => Region {
    const names = [...this.#leaves.keys(), ...this.#conditions.keys()]
    return this.regions.translator(into, (variable) => {
      const name = names[Math.floor((variable - 1) / 2)]
      return name === undefined ? second : held(name, isStored(variable) ? 'stored' : 'proposed')
    })
  }

  get leaves(): readonly Relation[] {
    return [...this.#leaves.keys()]
  }

  /** The names of the conditions that rules may use. */
  get conditions(): readonly string[] {
    return [...this.#conditions.keys()]
  }

  #fieldsNamed({ views }: Rule, action: Action): bigint {
    if (views.includes('*')) return (1n << BigInt(decidedFields({ resource: this.#resource, action }).length)) - 1n
    return action.hasFields ? join(views, this.#views) : 0n
  }
}

function bitsOf(names: Iterable<string>): ReadonlyMap<string, bigint> {
  return new Map([...names].map((name, i) => [name, 1n << BigInt(i)]))
}

function join(names: readonly string[], bits: ReadonlyMap<string, bigint>): bigint {
  return names.reduce((mask, name) => mask | (bits.get(name) ?? 0n), 0n)
}
