/** One space of situations for two policies: what the rules of both about one action on one resource name. */
import type { Policy } from '../decide/policy.ts'
import { isLeaf, leavesOf, meaningOf, needsCaller } from '../decide/relations/all-kinds.ts'
import type { Relation } from '../decide/relations/relation-kind.ts'
import { conditionNeedsCaller, meaningOfCondition } from '../decide/request-conditions/all-conditions.ts'
import { coversResource, decidedFields, isAbout, neededActions } from '../decide/rules/terms.ts'
import type { Action, Resource } from '../resources/resource.ts'
import { ActionRules, groupRules } from './action-rules.ts'
import { namedConditions, namedRelations } from './possible-sets.ts'
import { type Region, Regions, TooManyRegions } from './regions.ts'
import { concernsObjects, type Decisions, decisionsOf, type Moments, ResourceSpace, RuleSpace } from './space.ts'

type Side = 'before' | 'after'

/** The same thing in both policies. */
export type Sides<T> = Readonly<Record<Side, T>>

export function sidesOf<T>(of: (side: Side) => T): Sides<T> {
  return { before: of('before'), after: of('after') }
}

/** A leaf or a condition that rules of either policy name. */
interface Atom {
  /** For people. */
  readonly label: string
  /** What each policy understands by it; undefined for a condition. */
  readonly leaf: Sides<Relation> | undefined
  /** Whether it holds for nobody without credentials. */
  readonly needsCaller: Sides<boolean>
}

export interface ComparedSpace {
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
  /** The rules about each action that must be granted. */
  readonly about: Sides<readonly ActionRules[]>
}

export interface Topic {
  readonly resource: Resource
  readonly action: Action
  readonly decisions: Decisions
  /** Each class: fields that all rules of both policies treat alike. */
  readonly classes: readonly (readonly string[])[]
  readonly space: ComparedSpace
  /** The same, but relations differ by name, as for the role level, which knows no object. */
  readonly byName: ComparedSpace
}

/** Every action of a resource, or some of them. Throws TooManyRegions for policies with too many names to compare. */
export function* topicsOf(
  policies: Sides<Policy>,
  resource: Resource,
  actions: Iterable<Action> = resource.actions.values(),
): Iterable<Topic> {
  const covering = sidesOf((side) => policies[side].rules.filter((rule) => coversResource(rule, resource)))
  const declared = sidesOf((side) => declaredIn(policies[side], resource))
  for (const action of actions) {
    const about = sidesOf((side) => ({
      ...policies[side],
      rules: covering[side].filter((rule) => isAbout(rule, { resource, action })),
    }))
    const spaceBy = (identity: NameIdentity) => spaceOf(about, { resource, action, declared, identity })
    const [space, byName] = [spaceBy('meaning'), spaceBy('name')]
    const named = [...new Set([...space.about.before, ...space.about.after].flatMap(({ masks }) => masks))]
    const signature = (bit: number) => named.map((mask) => (mask >> BigInt(bit)) & 1n).join('')
    const fields = decidedFields({ resource, action })
    const classes = [...Map.groupBy(fields.keys(), signature).values()].map((bits) =>
      bits.flatMap((bit) => fields[bit] ?? []),
    )
    yield { resource, action, decisions: decisionsOf(resource, action), classes, space, byName }
  }
}

/** Whether two names of a policy that mean the same count as one (`meaning`) or as two (`name`). */
type NameIdentity = 'meaning' | 'name'

interface Declared {
  readonly name: string
  /** Undefined for a condition. */
  readonly leaf: Relation | undefined
  readonly needsCaller: boolean
  readonly meaning: string
}

function keyOf(leaf: Relation | undefined, name: string): string {
  return `${leaf ? 'relation' : 'condition'} ${name}`
}

function declaredIn({ ownership, conditions }: Policy, { name }: Resource): ReadonlyMap<string, Declared> {
  const relations = [...(ownership.get(name)?.relations.values() ?? [])].map((leaf) => ({
    name: leaf.name,
    leaf,
    needsCaller: needsCaller(leaf),
    meaning: meaningOf(leaf),
  }))
  const ofConditions = [...conditions].map(([one, condition]) => ({
    name: one,
    leaf: undefined,
    needsCaller: conditionNeedsCaller(condition),
    meaning: meaningOfCondition(condition),
  }))
  return new Map([...relations, ...ofConditions].map((one) => [keyOf(one.leaf, one.name), one]))
}

interface NamedAction {
  readonly resource: Resource
  readonly action: Action
  readonly declared: Sides<ReadonlyMap<string, Declared>>
  readonly identity: NameIdentity
}

function spaceOf(about: Sides<Policy>, named: NamedAction): ComparedSpace {
  const { resource, action } = named
  const relations = sidesOf((side) =>
    concernsObjects(resource, action) ? namedRelations(about[side], resource, action) : [],
  )
  const leaves = sidesOf((side) => [...new Set(relations[side].flatMap(leavesOf))])
  const conditions = sidesOf((side) => namedConditions(about[side], resource, action))
  const atoms = atomsOf(named, [
    ...[...leaves.after, ...leaves.before].map((leaf) => keyOf(leaf, leaf.name)),
    ...[...conditions.after, ...conditions.before].map((name) => keyOf(undefined, name)),
  ])
  const list = [...new Set(atoms.values())]
  refuseTooMany(list, named)
  const placeOf = (key: string) => list.indexOf(atoms.get(key) as Atom)
  const regions = new Regions(resource.name)
  const rules = new RuleSpace(regions)
  const places = sidesOf((side) => ({
    regions,
    relations: relations[side],
    leaves: new Map(leaves[side].map((leaf) => [leaf, placeOf(keyOf(leaf, leaf.name))])),
    conditions: new Map(conditions[side].map((name) => [name, placeOf(keyOf(undefined, name))])),
  }))
  return {
    regions,
    rules,
    atoms: list,
    moments: list.map(({ leaf }, i) => rules.moments(i, leaf?.after)),
    ...possibilities(list, resource, rules),
    about: sidesOf((side) => {
      const space = new ResourceSpace(about[side], resource, places[side])
      const rules = groupRules(about[side].rules)
      return neededActions(action).map((one) => new ActionRules(resource, one, space, rules))
    }),
  }
}

/**
 * By key. What means the same is one atom, labelled with its new name if possible; so is a name with a changed meaning.
 * `keys`: those of the new policy first.
 */
function atomsOf({ declared, identity }: NamedAction, keys: readonly string[]): ReadonlyMap<string, Atom> {
  const byIdentity = new Map<string, Atom>()
  const atoms = new Map<string, Atom>()
  for (const key of new Set(keys)) {
    const { before, after } = sidesOf((side) => declared[side].get(key))
    const known = after ?? before
    if (!known) continue
    const isNamed = identity === 'name' || (before ?? known).meaning !== (after ?? known).meaning
    const kind = known.leaf ? 'relation' : 'condition'
    const atom = byIdentity.getOrInsertComputed(isNamed ? key : `${kind} meaning ${known.meaning}`, () => {
      const understood = sidesOf((side) => leafOrCondition(declared[side].get(key)))
      const meant = sidesOf((side) => understood[side] ?? understood[side === 'after' ? 'before' : 'after'] ?? known)
      const leaf = known.leaf && sidesOf((side) => meant[side].leaf as Relation)
      return { label: known.name, leaf, needsCaller: sidesOf((side) => meant[side].needsCaller) }
    })
    atoms.set(key, atom)
  }
  return atoms
}

/** Undefined for a relation that consists of others. */
function leafOrCondition(one: Declared | undefined): Declared | undefined {
  return one?.leaf && !isLeaf(one.leaf) ? undefined : one
}

/** A rule file that needs more on one action has not been seen. */
const MOST_NAMES = 16

/** The rules about `action` on `about` name more than a comparison can tell apart. */
export class TooManyNames extends TooManyRegions {
  readonly action: Action
  readonly what: 'relations' | 'conditions'

  constructor({ resource, action }: NamedAction, count: number, what: TooManyNames['what']) {
    super(resource.name)
    this.name = 'TooManyNames'
    this.message =
      `rules about \`${action.name}\` on \`${resource.name}\` name ${count} ${what}, ` +
      `but a diff compares at most ${MOST_NAMES}`
    this.action = action
    this.what = what
  }
}

function refuseTooMany(atoms: readonly Atom[], named: NamedAction): void {
  const leaves = atoms.filter(({ leaf }) => leaf).length
  if (leaves > MOST_NAMES) throw new TooManyNames(named, leaves, 'relations')
  if (atoms.length - leaves > MOST_NAMES) throw new TooManyNames(named, atoms.length - leaves, 'conditions')
}

/** The possible situations, with the relations as either policy understands them. */
function possibilities(
  atoms: readonly Atom[],
  resource: Resource,
  rules: RuleSpace,
): Pick<ComparedSpace, 'possible' | 'possibleAnonymous' | 'unrelated'> {
  const { regions } = rules
  const { before, after } = sidesOf((side) => {
    const leaves = new Map(atoms.flatMap(({ leaf }, i) => (leaf ? [[leaf[side], i] as const] : [])))
    const ofCaller = atoms.flatMap((atom, i) => {
      const { stored, proposed } = rules.moments(i, atom.leaf?.[side])
      return atom.needsCaller[side] ? [stored, proposed] : []
    })
    const unrelated = regions.all(ofCaller.map((region) => regions.not(region)))
    const possible = rules.possible(leaves, resource)
    return { possible, unrelated, anonymous: regions.both(possible, unrelated) }
  })
  return {
    possible: regions.either(before.possible, after.possible),
    possibleAnonymous: regions.either(before.anonymous, after.anonymous),
    unrelated: { before: before.unrelated, after: after.unrelated },
  }
}
