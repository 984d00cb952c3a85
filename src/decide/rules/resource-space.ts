/** The situations of one resource, with the names that the rules of one policy may use, and where its rules match. */
import type { Action, Resource } from '../../resources/resource.ts'
import type { Policy, Rule } from '../policy.ts'
import { leavesOf } from '../relations/all-kinds.ts'
import type { Region, Regions } from '../relations/regions.ts'
import type { Relation } from '../relations/relation-kind.ts'
import type { Extent } from './extents.ts'
import { decidedFields } from './rule.ts'
import { concernsObjects, decisionsOf, isStored, type Moments, RuleSpace } from './rule-space.ts'
import { namesIn, relationColumnText } from './terms.ts'

export class ResourceSpace extends RuleSpace {
  readonly #resource: Resource
  readonly #views: ReadonlyMap<string, bigint>
  readonly #names = new Map<string, Moments>()
  readonly #conditions: ReadonlyMap<string, Moments>
  readonly #possible: Region
  readonly #leaves: ReadonlyMap<Relation, number>

  constructor({ ownership, conditions, views }: Policy, resource: Resource) {
    super(resource)
    this.#resource = resource
    const relations = [...(ownership.get(resource.name)?.relations.values() ?? [])]
    const leaves = new Map([...new Set(relations.flatMap(leavesOf))].map((leaf, i) => [leaf, i]))
    this.#leaves = leaves
    this.#conditions = new Map(
      [...conditions.keys()].map((name, i) => [name, this.moments(leaves.size + i, undefined)]),
    )
    for (const relation of relations) {
      this.#names.set(
        relation.name,
        this.follows(relation, (leaf) => this.moments(leaves.get(leaf) ?? -1, leaf)),
      )
    }
    for (const [name, moments] of this.#conditions) this.#names.set(name, moments)
    this.#possible = this.possible(leaves, resource)
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
        return this.same(stored, proposed)
      }),
    )
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
