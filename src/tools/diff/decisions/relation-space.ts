/** The sets of relations that can hold between a caller and an object under two policies, as regions. */

import type { Policy, Rule } from '../../../decide/policy.ts'
import { possibleRegion, type Region, type RelationRegions, regionsOf } from '../../../decide/relations/regions.ts'
import { meaningOf, needsCaller, type Relation } from '../../../decide/relations/relation.ts'
import type { Action, Resource } from '../../../resources/resource.ts'
import { ReviewError } from '../../load-policy.ts'
import { type Side, type Sides, sidesOf } from '../change.ts'

export interface RelationSpace extends RelationRegions {
  /** Names of the relations, for people. */
  readonly labels: readonly string[]
  /** The sets that an object can have to a caller with credentials, and to one without. */
  readonly possible: Region
  readonly possibleAnonymous: Region
  /** The sets without relations that compare the object with a caller, as each policy understands them. */
  readonly unrelated: Sides<Region>
  /** Where a rule's relations all hold. */
  fits(side: Side, rule: Rule): Region
}

/** A relation by what it compares, whatever it is called; one whose meaning changed is told apart by its name. */
interface Atom {
  readonly label: string
  readonly meaning: Sides<Relation>
}

/** 65,536 sets; a rule file that needs more on one action has not been seen. */
const MOST_RELATIONS = 16

/** Whether two relations of a policy that compare the same are one (`meaning`), or two (`name`). */
export type Identity = 'meaning' | 'name'

/** `rules` are those about this resource and action. Throws ReviewError. */
export function relationSpace(
  policies: Sides<Policy>,
  rules: Sides<readonly Rule[]>,
  { resource, action }: { readonly resource: Resource; readonly action: Action },
  identity: Identity,
): RelationSpace {
  const keys = sidesOf((side) => KEYS[identity](policies, resource.name, side))
  const atoms = concernsObject(resource, action)
    ? atomsOf(policies, rules, keys, resource.name)
    : new Map<string, Atom>()
  if (atoms.size > MOST_RELATIONS) {
    throw new ReviewError(
      `rules about \`${action.name}\` on \`${resource.name}\` name ${atoms.size} relations; a diff compares at most ${MOST_RELATIONS}`,
    )
  }
  const positions = new Map([...atoms.keys()].map((key, i) => [key, i]))
  const sets = regionsOf(atoms.size)
  const whereNamed = (key = '') => sets.holds[positions.get(key) ?? -1] ?? 0n
  return {
    ...sets,
    labels: [...atoms.values()].map(({ label }) => label),
    ...possibilities([...atoms.values()], resource, sets),
    fits: (side, rule) => rule.relations.reduce((region, name) => region & whereNamed(keys[side].get(name)), sets.all),
  }
}

/** Options and built-in routes are decided with no relation holding (docs/decisions/0001). */
function concernsObject({ builtIn }: Resource, { name }: Action): boolean {
  return !builtIn && name !== 'options'
}

/** As either policy understands the relations. */
function possibilities(
  atoms: readonly Atom[],
  resource: Resource,
  sets: RelationRegions,
): Pick<RelationSpace, 'possible' | 'possibleAnonymous' | 'unrelated'> {
  const on = (side: Side) => {
    const relations = atoms.map(({ meaning }) => meaning[side])
    const ofCaller = relations.flatMap((relation, i) => (needsCaller(relation) ? (sets.holds[i] ?? 0n) : []))
    const possible = possibleRegion(relations, resource, sets)
    return { possible, unrelated: ofCaller.reduce((left, region) => left & ~region, sets.all) }
  }
  const { before, after } = sidesOf(on)
  return {
    possible: before.possible | after.possible,
    possibleAnonymous: (before.possible & before.unrelated) | (after.possible & after.unrelated),
    unrelated: { before: before.unrelated, after: after.unrelated },
  }
}

type Keys = (policies: Sides<Policy>, resource: string, side: Side) => ReadonlyMap<string, string>

/** Relation name to the key of its atom. */
const KEYS: Readonly<Record<Identity, Keys>> = { meaning: byMeaning, name: byName }

function byName(policies: Sides<Policy>, resource: string, side: Side): ReadonlyMap<string, string> {
  return new Map(
    [...(policies[side].ownership.get(resource)?.relations.keys() ?? [])].map((name) => [name, `named ${name}`]),
  )
}

function byMeaning(policies: Sides<Policy>, resource: string, side: Side): ReadonlyMap<string, string> {
  const mine = policies[side].ownership.get(resource)?.relations ?? new Map<string, Relation>()
  const others = policies[side === 'before' ? 'after' : 'before'].ownership.get(resource)?.relations
  return new Map(
    [...mine].map(([name, relation]) => {
      const other = others?.get(name)
      const changed = other !== undefined && meaningOf(other) !== meaningOf(relation)
      return [name, changed ? `named ${name}` : `is ${meaningOf(relation)}`]
    }),
  )
}

/** The relations that rules name, by key, in the order of ownership.yaml; called as they are now where that can be said. */
function atomsOf(
  policies: Sides<Policy>,
  rules: Sides<readonly Rule[]>,
  keys: Sides<ReadonlyMap<string, string>>,
  resource: string,
): ReadonlyMap<string, Atom> {
  const atoms = new Map<string, Atom>()
  for (const side of ['after', 'before'] as const) {
    const named = new Set(rules[side].flatMap(({ relations }) => relations))
    for (const [label, relation] of policies[side].ownership.get(resource)?.relations ?? []) {
      const key = keys[side].get(label)
      if (key === undefined || atoms.has(key) || !named.has(label)) continue
      const other = (of: Side) => policies[of].ownership.get(resource)?.relations.get(label) ?? relation
      atoms.set(key, { label, meaning: key.startsWith('is ') ? sidesOf(() => relation) : sidesOf(other) })
    }
  }
  return atoms
}
