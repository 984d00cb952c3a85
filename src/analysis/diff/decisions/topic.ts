/** The rules of two policies about one action on one resource, as regions of one space of situations. */

import { namedConditions, namedRelations } from '../../../analysis/possible-sets.ts'
import type { Region, Regions } from '../../../analysis/regions.ts'
import {
  type FieldClass,
  fieldClasses,
  type RuleRegions,
  type RulesAbout,
  regionsBySubject,
} from '../../../analysis/rule-regions.ts'
import { concernsObjects, type Decisions, decisionsOf, type Moments, RuleSpace } from '../../../analysis/space.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import { leavesOf, meaningOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { conditionNeedsCaller, meaningOfCondition } from '../../../decide/request-conditions/all-conditions.ts'
import { coversResource, isAbout } from '../../../decide/rules/terms.ts'
import type { Action, Resource } from '../../../resources/resource.ts'
import { type Side, type Sides, sidesOf } from '../change.ts'
import { incomparable } from './incomparable.ts'

/** A leaf or a condition that rules of either policy name. */
interface Atom {
  /** For people. */
  readonly label: string
  /** What each policy understands by it; undefined for a condition. */
  readonly leaf: Sides<Relation> | undefined
  /** Whether it holds for nobody without credentials. */
  readonly needsCaller: Sides<boolean>
}

export interface RelationSpace {
  readonly regions: Regions
  readonly rules: RuleSpace
  readonly atoms: readonly Atom[]
  /** Where the atoms hold, as the new policy understands them. */
  readonly moments: readonly Moments[]
  /** The situations in which an object can be to a caller with credentials, and to a caller without. */
  readonly possible: Region
  readonly possibleAnonymous: Region
  /** The situations without relations and conditions that need a caller, as each policy understands them. */
  readonly unrelated: Sides<Region>
  /** Where a rule of one policy matches. */
  where(side: Side, rule: Rule): Region
}

interface RulesInSpace {
  readonly space: RelationSpace
  /** The subject's own rules, without those that it inherits. */
  readonly bySubject: Sides<ReadonlyMap<string, RuleRegions>>
}

export interface Topic extends RulesInSpace {
  readonly resource: Resource
  readonly action: Action
  readonly decisions: Decisions
  /** Each class: fields that all rules of both policies treat alike. */
  readonly classes: readonly FieldClass[]
  /** The same, but relations differ by name, as for the role level, which knows no object. */
  readonly byName: RulesInSpace
}

/**
 * Every action of a resource, or some of them. Throws Incomparable for policies with too many relations to compare.
 */
export function* topicsOf(
  policies: Sides<Policy>,
  resource: Resource,
  actions: Iterable<Action> = resource.actions.values(),
): Iterable<Topic> {
  const covering = sidesOf((side) => policies[side].rules.filter((rule) => coversResource(rule, resource)))
  for (const action of actions) {
    const about = sidesOf((side): RulesAbout => {
      const rules = covering[side].filter((rule) => isAbout(rule, { resource, action }))
      return { policy: { ...policies[side], rules }, rules, resource, action }
    })
    const classes = fieldClasses(about.before, about.after)
    const placeIn = (identity: Identity): RulesInSpace => {
      const space = relationSpace(about, identity)
      const where = (side: Side) => (rule: Rule) => space.where(side, rule)
      const { regions } = space
      const bySubject = sidesOf((side) => regionsBySubject(about[side], { regions, classes, where: where(side) }))
      return { space, bySubject }
    }
    const decisions = decisionsOf(resource, action)
    yield { resource, action, decisions, classes, ...placeIn('meaning'), byName: placeIn('name') }
  }
}

/** A rule file that needs more on one action has not been seen. */
const MOST_RELATIONS = 16
const MOST_CONDITIONS = 16

function refuseTooMany(atoms: ReadonlyMap<string, Atom>, about: Sides<RulesAbout>): void {
  const { resource, action } = about.after
  const leaves = [...atoms.values()].filter(({ leaf }) => leaf).length
  const refuse = (count: number, what: string, most: number) => {
    if (count <= most) return
    throw incomparable(about, () => true, {
      wrong:
        `rules about \`${action.name}\` on \`${resource.name}\` name ${count} ${what}, ` +
        `but a diff compares at most ${most}`,
      mend: `name fewer ${what} in these rules`,
    })
  }
  refuse(leaves, 'relations', MOST_RELATIONS)
  refuse(atoms.size - leaves, 'conditions', MOST_CONDITIONS)
}

/** Whether two names of a policy that mean the same count as one (`meaning`) or as two (`name`). */
type Identity = 'meaning' | 'name'

function relationSpace(about: Sides<RulesAbout>, identity: Identity): RelationSpace {
  const { resource, action } = about.after
  const keys = sidesOf((side) => keysOf(about, side, identity))
  const atoms = atomsOf(about, keys)
  refuseTooMany(atoms, about)
  const rules = new RuleSpace(resource)
  const places = new Map([...atoms.keys()].map((key, i) => [key, i]))
  const placeOf = (key = '') => places.get(key) ?? -1
  const leafMoments = (side: Side) => (leaf: Relation) => rules.moments(placeOf(keys[side].leaves.get(leaf.name)), leaf)
  const moments = sidesOf((side) =>
    momentsOf(
      about[side],
      (relation) => rules.follows(relation, leafMoments(side)),
      (name) => rules.moments(placeOf(keys[side].conditions.get(name)), undefined),
    ),
  )
  const { changes } = decisionsOf(resource, action)
  const list = [...atoms.values()]
  return {
    regions: rules.regions,
    rules,
    atoms: list,
    moments: list.map(({ leaf }, i) => rules.moments(i, leaf?.after)),
    ...possibilities(list, resource, rules),
    where: (side, rule) => rules.matches(rule, (name) => moments[side].get(name), changes),
  }
}

/** Where the names of a policy hold; without an object, only conditions count. */
function momentsOf(
  about: RulesAbout,
  ofRelation: (relation: Relation) => Moments,
  ofCondition: (name: string) => Moments,
): ReadonlyMap<string, Moments> {
  const { policy, resource, action } = about
  const conditions = namedConditions(policy, resource, action).map((name) => [name, ofCondition(name)] as const)
  return new Map([...relationsAbout(about).map((one) => [one.name, ofRelation(one)] as const), ...conditions])
}

/** The relations that rules name, if they can count. */
function relationsAbout({ policy, resource, action }: RulesAbout): readonly Relation[] {
  return concernsObjects(resource, action) ? namedRelations(policy, resource, action) : []
}

/** The possible situations, with the relations as either policy understands them. */
function possibilities(
  atoms: readonly Atom[],
  resource: Resource,
  rules: RuleSpace,
): Pick<RelationSpace, 'possible' | 'possibleAnonymous' | 'unrelated'> {
  const { regions } = rules
  const on = (side: Side) => {
    const leaves = new Map(atoms.flatMap(({ leaf }, i) => (leaf ? [[leaf[side], i] as const] : [])))
    const ofCaller = atoms.flatMap((atom, i) => {
      const { stored, proposed } = rules.moments(i, atom.leaf?.[side])
      return atom.needsCaller[side] ? [stored, proposed] : []
    })
    const unrelated = regions.all(ofCaller.map((region) => regions.not(region)))
    return { possible: rules.possible(leaves, resource), unrelated }
  }
  const { before, after } = sidesOf(on)
  return {
    possible: regions.either(before.possible, after.possible),
    possibleAnonymous: regions.either(
      regions.both(before.possible, before.unrelated),
      regions.both(after.possible, after.unrelated),
    ),
    unrelated: { before: before.unrelated, after: after.unrelated },
  }
}

/** The keys of the atoms by the names of leaves and of conditions. */
interface Keys {
  readonly leaves: ReadonlyMap<string, string>
  readonly conditions: ReadonlyMap<string, string>
}

function keysOf(about: Sides<RulesAbout>, side: Side, identity: Identity): Keys {
  const other = side === 'before' ? 'after' : 'before'
  const leaves = sidesOf((one) => new Map([...relationsOf(about[one])].map(([name, one]) => [name, meaningOf(one)])))
  const conditions = sidesOf(
    (one) => new Map([...about[one].policy.conditions].map(([name, one]) => [name, meaningOfCondition(one)])),
  )
  const keys = (meanings: Sides<ReadonlyMap<string, string>>, kind: string) =>
    new Map(
      [...meanings[side]].map(([name, meaning]) => {
        const changed = (meanings[other].get(name) ?? meaning) !== meaning
        return [name, changed || identity === 'name' ? `${kind} named ${name}` : `${kind} ${meaning}`]
      }),
    )
  return { leaves: keys(leaves, 'relation'), conditions: keys(conditions, 'condition') }
}

/**
 * The leaves of the relations that rules name, and the conditions, by key, in the order of their files; labelled with
 * their new names if possible. A name with a changed meaning is one atom.
 */
function atomsOf(about: Sides<RulesAbout>, keys: Sides<Keys>): ReadonlyMap<string, Atom> {
  const atoms = new Map<string, Atom>()
  const add = (key: string | undefined, atom: Atom) => {
    if (key !== undefined && !atoms.has(key)) atoms.set(key, atom)
  }
  for (const side of ['after', 'before'] as const) {
    for (const leaf of new Set(relationsAbout(about[side]).flatMap(leavesOf))) {
      const leafIn = (of: Side) => {
        const same = relationsOf(about[of]).get(leaf.name)
        return same &&
          leavesOf(same).includes(same) &&
          keys[of].leaves.get(leaf.name) === keys[side].leaves.get(leaf.name)
          ? same
          : leaf
      }
      const asked = sidesOf((of) => needsCaller(leafIn(of)))
      add(keys[side].leaves.get(leaf.name), { label: leaf.name, leaf: sidesOf(leafIn), needsCaller: asked })
    }
  }
  for (const side of ['after', 'before'] as const) {
    const { policy, resource, action } = about[side]
    for (const name of namedConditions(policy, resource, action)) {
      const own = policy.conditions.get(name)
      const asked = sidesOf((of) => {
        const condition = about[of].policy.conditions.get(name) ?? own
        return condition !== undefined && conditionNeedsCaller(condition)
      })
      add(keys[side].conditions.get(name), { label: name, leaf: undefined, needsCaller: asked })
    }
  }
  return atoms
}

function relationsOf({ policy, resource }: RulesAbout): ReadonlyMap<string, Relation> {
  return policy.ownership.get(resource.name)?.relations ?? new Map()
}
