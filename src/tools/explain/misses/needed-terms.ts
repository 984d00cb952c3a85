/** Changes to one request that make terms of rules hold, or stop holding, in terms of relations without parts. */

import type { Term } from '../../../decide/policy.ts'
import { followsFrom, holdsForOwnRecord, kindOf, leavesOf } from '../../../decide/relations/all-kinds.ts'
import { type FieldGroup, fieldGroups } from '../../../decide/relations/possible-sets.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { NeededChange } from '../explanation.ts'
import { hasAttribute, type SupposedRequest } from '../supposed-request.ts'

type Names = ReadonlySet<string>

/** What holds. The relations are names of relations without parts; the others follow. */
export interface Held {
  readonly relations: Names
  readonly conditions: Names
}

export type TermChange = Extract<NeededChange, { readonly kind: `${'' | 'not-'}${'relation' | 'condition'}` }>

/** The limit of ways to change one rule's terms. */
const MOST_WAYS = 24

/** The limit of sets of relations that a list field can have. */
const MOST_UNIONS = 256

/** The ways to make all terms hold, each as the changes that it needs; none if that can't be. */
export function waysToFit(terms: readonly Term[], held: Held, request: SupposedRequest): readonly TermChange[][] {
  return product(terms.map((term) => waysTo(term, held, request)))
}

/** The ways to make one of the terms not hold. */
export function waysToMiss(terms: readonly Term[], held: Held, request: SupposedRequest): readonly TermChange[][] {
  return terms.flatMap(({ name, negated }) => waysTo({ name, negated: !negated }, held, request)).slice(0, MOST_WAYS)
}

function waysTo({ name, negated }: Term, held: Held, request: SupposedRequest): readonly TermChange[][] {
  const relation = relationsOf(request).find((one) => one.name === name)
  if (relation) return waysOf(relation, !negated, held.relations, request)
  if (held.conditions.has(name) !== negated) return [[]]
  return [[{ kind: negated ? 'not-condition' : 'condition', name }]]
}

function waysOf(relation: Relation, wanted: boolean, held: Names, request: SupposedRequest): readonly TermChange[][] {
  const { need, of } = kindOf(relation).parts?.(relation) ?? {}
  if (of) {
    const ways = of.map((part) => waysOf(part, wanted, held, request))
    return (need === 'all') === wanted ? product(ways) : ways.flat().slice(0, MOST_WAYS)
  }
  if (held.has(relation.name) === wanted) return [[]]
  if (!couldBe(relation, wanted, request)) return []
  return [[{ kind: wanted ? 'relation' : 'not-relation', name: relation.name }]]
}

/** Whether it could hold, or not hold, for some object of this caller. */
function couldBe(relation: Relation, wanted: boolean, request: SupposedRequest): boolean {
  if (!wanted) return !(request.route.kind === 'caller' && holdsForOwnRecord(relation))
  return kindOf(relation).couldHold(relation, (name) => hasAttribute(request, name))
}

function product(parts: readonly (readonly TermChange[][])[]): readonly TermChange[][] {
  return parts.reduce<readonly TermChange[][]>(
    (some, ways) => some.flatMap((way) => ways.map((more) => distinct([...way, ...more]))).slice(0, MOST_WAYS),
    [[]],
  )
}

function distinct(changes: readonly TermChange[]): TermChange[] {
  return [...new Map(changes.map((change) => [JSON.stringify(change), change])).values()]
}

/** What holds after the changes; undefined if that can't be. A field with one value makes other relations stop holding. */
export function heldAfter(changes: readonly NeededChange[], held: Held, request: SupposedRequest): Held | undefined {
  const named = (kind: NeededChange['kind']) =>
    new Set(changes.flatMap((change) => (change.kind === kind && 'name' in change ? [change.name] : [])))
  const relations = leavesAfter(held.relations, { on: named('relation'), off: named('not-relation') }, request)
  const conditions = held.conditions.union(named('condition')).difference(named('not-condition'))
  return relations && { relations, conditions }
}

interface Toggles {
  readonly on: Names
  readonly off: Names
}

/** The relations without parts that hold after some of them are switched on or off. */
function leavesAfter(held: Names, { on, off }: Toggles, request: SupposedRequest): Names | undefined {
  if (!on.isDisjointFrom(off)) return undefined
  const wanted = held.union(on).difference(off)
  const touched = fieldGroups(relationsOf(request).filter(isLeaf), request.resource).filter(({ relations }) =>
    relations.some(({ name }) => on.has(name) || off.has(name)),
  )
  return touched.reduce<Names | undefined>((set, group) => set && fitGroup(set, group, { on, off }), wanted)
}

/** The nearest set of relations that this field can have. */
function fitGroup(wanted: Names, { relations, byValue, isList }: FieldGroup, { on, off }: Toggles): Names | undefined {
  const group = new Set(relations.map(({ name }) => name))
  const here = group.intersection(wanted)
  const values = byValue.map((set) => new Set(set.map(({ name }) => name))).filter((set) => set.isDisjointFrom(off))
  const sets = isList ? unions(values) : values
  const fitting = sets.filter((set) => group.intersection(on).isSubsetOf(set))
  const [nearest] = fitting.toSorted((a, b) => distance(a, here) - distance(b, here))
  return nearest && wanted.difference(group).union(nearest)
}

/** A list has the values of several of these sets. */
function unions(sets: readonly Names[]): readonly Names[] {
  const found = new Map<string, Names>([['', new Set()]])
  for (const set of sets) {
    for (const one of [...found.values()]) {
      const union = one.union(set)
      if (found.size < MOST_UNIONS) found.set([...union].toSorted().join(), union)
    }
  }
  return [...found.values()]
}

function distance(a: Names, b: Names): number {
  return a.symmetricDifference(b).size
}

/** Of these names, the relations without parts. */
function leavesIn(names: Names, request: SupposedRequest): Names {
  return new Set(
    relationsOf(request)
      .filter((one) => isLeaf(one) && names.has(one.name))
      .map(({ name }) => name),
  )
}

/** All relations that hold when exactly these relations without parts do. */
export function namesFrom(leaves: Names, request: SupposedRequest): readonly string[] {
  const follows = (relation: Relation) => followsFrom(relation, ({ name }) => leaves.has(name))
  return relationsOf(request)
    .filter(follows)
    .map(({ name }) => name)
}

function isLeaf(relation: Relation): boolean {
  return leavesOf(relation)[0] === relation
}

export function relationsOf({ parsed, resource }: SupposedRequest): readonly Relation[] {
  return [...(parsed.ownership.get(resource.name)?.relations.values() ?? [])]
}

/** Relations without parts from which all of these follow, the parts of those that aren't told included. */
export function leavesBehind(names: Names, request: SupposedRequest): Names {
  return relationsOf(request)
    .filter((relation) => names.has(relation.name) && !isLeaf(relation))
    .reduce(
      (leaves, relation) => {
        const ways = waysOf(relation, true, leaves, request)
        const added = ways.map((way) => leaves.union(new Set(way.map(({ name }) => name))))
        return added.toSorted((a, b) => strangers(a, names, request) - strangers(b, names, request))[0] ?? leaves
      },
      leavesIn(names, request),
    )
}

/** How many relations would hold that aren't told. */
function strangers(leaves: Names, names: Names, request: SupposedRequest): number {
  return namesFrom(leaves, request).filter((name) => !names.has(name)).length
}
