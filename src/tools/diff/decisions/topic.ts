/** The rules of two policies about one action on one resource, as regions of the sets of relations. */

import type { Policy, Rule } from '../../../decide/policy.ts'
import { meaningOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import { namedRelations } from '../../../decide/relations/possible-sets.ts'
import { possibleRegion, type Region, type RelationRegions, regionsOf } from '../../../decide/relations/regions.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { coversResource, isAbout } from '../../../decide/rules/rule.ts'
import {
  type FieldClass,
  fieldClasses,
  type RuleRegions,
  type RulesAbout,
  regionsBySubject,
} from '../../../decide/rules/rule-regions.ts'
import { namesIn } from '../../../decide/rules/terms.ts'
import type { Action, Resource } from '../../../resources/resource.ts'
import { ReviewError } from '../../load-policy.ts'
import { type Side, type Sides, sidesOf } from '../change.ts'

export interface RelationSpace extends RelationRegions {
  /** Names of the relations, for people. */
  readonly labels: readonly string[]
  /** The sets of relations that an object can have to a caller with credentials, and to a caller without. */
  readonly possible: Region
  readonly possibleAnonymous: Region
  /** The sets without relations that compare the object with a caller, as each policy understands them. */
  readonly unrelated: Sides<Region>
  /** Where all of these relations of one policy hold. */
  where(side: Side, relations: readonly string[]): Region
}

interface RulesInSpace {
  readonly space: RelationSpace
  /** The subject's own rules, without those that it inherits. */
  readonly bySubject: Sides<ReadonlyMap<string, RuleRegions>>
}

export interface Topic extends RulesInSpace {
  readonly resource: Resource
  readonly action: Action
  /** Each class: fields that all rules of both policies treat alike. */
  readonly classes: readonly FieldClass[]
  /** The same, but relations differ by name, as for the role level, which knows no object. */
  readonly byName: RulesInSpace
}

/** Every action of a resource. Throws ReviewError for policies with too many relations to compare. */
export function* topicsOf(policies: Sides<Policy>, resource: Resource): Iterable<Topic> {
  const covering = sidesOf((side) => policies[side].rules.filter((rule) => coversResource(rule, resource)))
  for (const action of resource.actions.values()) {
    const about = sidesOf((side): RulesAbout => {
      const rules = covering[side].filter((rule) => isAbout(rule, { resource, action }))
      return { policy: { ...policies[side], rules }, rules, resource, action }
    })
    const classes = fieldClasses(about.before, about.after)
    const placeIn = (identity: Identity): RulesInSpace => {
      const space = relationSpace(about, identity)
      const where = (side: Side) => (rule: Rule) => space.where(side, namesIn(rule))
      const bySubject = sidesOf((side) => regionsBySubject(about[side], { classes, where: where(side) }))
      return { space, bySubject }
    }
    yield { resource, action, classes, ...placeIn('meaning'), byName: placeIn('name') }
  }
}

/** A relation with all its names. A relation with a changed meaning has one atom for each name. */
interface Atom {
  readonly label: string
  readonly meaning: Sides<Relation>
}

/** 65,536 sets; a rule file that needs more on one action has not been seen. */
const MOST_RELATIONS = 16

/** Whether two relations of a policy that compare the same count as one (`meaning`) or as two (`name`). */
type Identity = 'meaning' | 'name'

function relationSpace(about: Sides<RulesAbout>, identity: Identity): RelationSpace {
  const { resource, action } = about.after
  const keys = sidesOf((side) => KEYS[identity](about, side))
  const atoms = concernsObject(resource, action) ? atomsOf(about, keys) : new Map<string, Atom>()
  if (atoms.size > MOST_RELATIONS) {
    throw new ReviewError(
      `rules about \`${action.name}\` on \`${resource.name}\` name ${atoms.size} relations, ` +
        `but a diff compares at most ${MOST_RELATIONS}: name fewer relations in these rules`,
    )
  }
  const positions = new Map([...atoms.keys()].map((key, i) => [key, i]))
  const sets = regionsOf(atoms.size)
  const whereNamed = (key = '') => sets.holds[positions.get(key) ?? -1] ?? 0n
  return {
    ...sets,
    labels: [...atoms.values()].map(({ label }) => label),
    ...possibilities([...atoms.values()], resource, sets),
    where: (side, names) => names.reduce((region, name) => region & whereNamed(keys[side].get(name)), sets.all),
  }
}

/** Options and built-in routes are decided as if no relation held (docs/decisions/0001). */
function concernsObject({ builtIn }: Resource, { name }: Action): boolean {
  return !builtIn && name !== 'options'
}

/** The possible sets, with the relations as either policy understands them. */
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

type Keys = (about: Sides<RulesAbout>, side: Side) => ReadonlyMap<string, string>

/** Relation name to the key of its atom. */
const KEYS: Readonly<Record<Identity, Keys>> = { meaning: byMeaning, name: byName }

function byName(about: Sides<RulesAbout>, side: Side): ReadonlyMap<string, string> {
  return new Map([...relationsOf(about[side]).keys()].map((name) => [name, `named ${name}`]))
}

function byMeaning(about: Sides<RulesAbout>, side: Side): ReadonlyMap<string, string> {
  const others = relationsOf(about[side === 'before' ? 'after' : 'before'])
  return new Map(
    [...relationsOf(about[side])].map(([name, relation]) => {
      const other = others.get(name)
      const changed = other !== undefined && meaningOf(other) !== meaningOf(relation)
      return [name, changed ? `named ${name}` : `is ${meaningOf(relation)}`]
    }),
  )
}

/** The relations that rules name, by key, in the order of ownership.yaml; labelled with their new names if possible. */
function atomsOf(about: Sides<RulesAbout>, keys: Sides<ReadonlyMap<string, string>>): ReadonlyMap<string, Atom> {
  const atoms = new Map<string, Atom>()
  for (const side of ['after', 'before'] as const) {
    const { policy, resource, action } = about[side]
    for (const relation of namedRelations(policy, resource, action)) {
      const label = relation.name
      const key = keys[side].get(label)
      if (key === undefined || atoms.has(key)) continue
      const other = (of: Side) => relationsOf(about[of]).get(label) ?? relation
      atoms.set(key, { label, meaning: key.startsWith('is ') ? sidesOf(() => relation) : sidesOf(other) })
    }
  }
  return atoms
}

function relationsOf({ policy, resource }: RulesAbout): ReadonlyMap<string, Relation> {
  return policy.ownership.get(resource.name)?.relations ?? new Map()
}
