/** Changes to one request after which terms of rules hold, or stop holding. Each change is a relation without parts. */
import { type FieldGroup, fieldGroups, namesWith } from '../../analysis/possible-sets.ts'
import { choices } from '../../base/subsets.ts'
import type { Term } from '../../decide/policy.ts'
import { holdsForOwnRecord, isLeaf, kindOf } from '../../decide/relations/all-kinds.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import type { RelationColumn } from '../../decide/rules/terms.ts'
import type { Names, NeededChange } from './explanation.ts'
import { declaredRelations, type HypotheticalRequest, hasAttribute } from './request.ts'

/** A situation. `relations` names relations without parts; relations with parts follow from these. */
export interface Held {
  readonly relations: Names
  readonly conditions: Names
  /** The relations after the write, if the request assumes a change of states. */
  readonly result?: Names | undefined
  /** The names that may hold or not, because nobody knows them for another caller. */
  readonly open?: Names | undefined
  /** The open relations that are known to hold, or not to hold, after the write. */
  readonly settledAfter?: Names | undefined
  /** What was changed, and stays so: an open name can't hold where that would end it. */
  readonly changes?: readonly NeededChange[] | undefined
}

type TermChange = Extract<NeededChange, { readonly kind: `${'' | 'not-'}${'relation' | 'result' | 'condition'}` }>
type When = 'relation' | 'result'

/** The limit of ways to change one rule's terms. */
const MOST_WAYS = 24

/** The limit of sets of relations that a list field can have. */
const MOST_UNIONS = 256

/**
 * The ways in which all terms of a rule hold, each as the changes that it needs; an empty list if that is impossible. If
 * the request assumes a result, the terms of the right side hold after the write; terms of the left side may hold too.
 */
export function waysToFit(
  { before, after = [] }: RelationColumn,
  held: Held,
  request: HypotheticalRequest,
): readonly TermChange[][] {
  const left = allWays(before, 'relation', held, request)
  if (!held.result) return left
  const right = allWays(after, 'result', held, request)
  const stays = before.filter(({ name }) => !after.some((term) => term.name === name))
  return product([left, right]).concat(product([left, right, allWays(stays, 'result', held, request)]))
}

/** The ways to make a matching rule not match: one of its terms doesn't hold before the write, or after it, or both. */
export function waysToMiss(
  { before, after = [] }: RelationColumn,
  held: Held,
  request: HypotheticalRequest,
): readonly TermChange[][] {
  const missing = (term: Term, when: When) => waysTo({ ...term, negated: !term.negated }, when, held, request)
  const left = before.flatMap((term) => missing(term, 'relation'))
  if (!held.result) return left.slice(0, MOST_WAYS)
  const right = after.flatMap((term) => missing(term, 'result'))
  const both = before.flatMap((term) => product([missing(term, 'relation'), missing(term, 'result')]))
  return [...left, ...right, ...both].slice(0, MOST_WAYS)
}

function allWays(
  terms: readonly Term[],
  when: When,
  held: Held,
  request: HypotheticalRequest,
): readonly TermChange[][] {
  return product(terms.map((term) => waysTo(term, when, held, request)))
}

/** Conditions of the request hold before the write and after it. */
function waysTo(
  { name, negated }: Term,
  when: When,
  held: Held,
  request: HypotheticalRequest,
): readonly TermChange[][] {
  const relation = declaredRelations(request).find((one) => one.name === name)
  if (relation) return waysOf(relation, { wanted: !negated, when }, held, request)
  if (!held.open?.has(name) && held.conditions.has(name) !== negated) return [[]]
  return [[{ kind: negated ? 'not-condition' : 'condition', name }]]
}

interface Wanted {
  readonly wanted: boolean
  readonly when: When
}

function waysOf(relation: Relation, asked: Wanted, held: Held, request: HypotheticalRequest): readonly TermChange[][] {
  const { wanted, when } = asked
  const { need, of } = kindOf(relation).parts?.(relation) ?? {}
  if (of) {
    const ways = of.map((part) => waysOf(part, asked, held, request))
    return (need === 'all') === wanted ? product(ways) : ways.flat().slice(0, MOST_WAYS)
  }
  const isOpen = held.open?.has(relation.name) && !(when === 'result' && held.settledAfter?.has(relation.name))
  const holding = when === 'result' ? held.result : held.relations
  if (!isOpen && holding?.has(relation.name) === wanted) return [[]]
  if (!couldBe(relation, wanted, request)) return []
  const change = (at: When): TermChange[] => [{ kind: wanted ? at : (`not-${at}` as const), name: relation.name }]
  if (isOpen || when === 'relation') return [change('relation')]
  // What isn't among the states that the write changes also holds after the write if it held before.
  const lasts = !request.becomes?.states.has(relation.name) && held.relations.has(relation.name) !== wanted
  return lasts ? [change('result'), change('relation')] : [change('result')]
}

/** Whether it could hold, or not hold, for some object of this caller. */
function couldBe(relation: Relation, wanted: boolean, request: HypotheticalRequest): boolean {
  if (!wanted) return !(request.route.kind === 'caller' && holdsForOwnRecord(relation))
  return kindOf(relation).couldHold(relation, (name) => hasAttribute(request, name))
}

function product(parts: readonly (readonly TermChange[][])[]): readonly TermChange[][] {
  return choices(parts, MOST_WAYS).map((ways) => distinct(ways.flat()))
}

function distinct(changes: readonly TermChange[]): TermChange[] {
  return [...new Map(changes.map((change) => [JSON.stringify(change), change])).values()]
}

/** The situation after the changes; undefined if it is impossible. A field with one value ends other relations. */
export function heldAfter(more: readonly NeededChange[], held: Held, request: HypotheticalRequest): Held | undefined {
  const changes = [...(held.changes ?? []), ...more]
  const named = (kind: NeededChange['kind']) =>
    new Set(changes.flatMap((change) => (change.kind === kind && 'name' in change ? [change.name] : [])))
  const before = { on: named('relation'), off: named('not-relation') }
  const after = { on: named('result'), off: named('not-result') }
  const [on, off] = [before.on.union(after.on), before.off.union(after.off)]
  const canBecome = (one: Relation) =>
    (!on.has(one.name) || couldBe(one, true, request)) && (!off.has(one.name) || couldBe(one, false, request))
  if (!declaredRelations(request).every(canBecome)) return undefined
  const relations = leavesAfter(held.relations, before, request)
  const conditions = held.conditions.union(named('condition')).difference(named('not-condition'))
  const toggled = [before.on, before.off, named('condition'), named('not-condition')]
  const open = toggled.reduce((some, names) => some.difference(names), held.open ?? new Set())
  if (!relations || !held.result) return relations && { relations, conditions, open, changes }
  const settledAfter: Names = new Set([...after.on, ...after.off, ...(held.settledAfter ?? [])])
  const fixed = new Set([...settledAfter, ...(request.becomes?.states ?? [])])
  const result = leavesAfter(held.result, lasting(before, after, fixed), request)
  return result && { relations, conditions, result, open, settledAfter, changes }
}

/** The situations in which each open name holds or doesn't. */
export function settled({ open = new Set(), ...held }: Held, request: HypotheticalRequest): readonly Held[] {
  return [...open].reduce<readonly Held[]>(
    (some, name) => {
      const kind = request.parsed.conditions.has(name) ? ('condition' as const) : ('relation' as const)
      const ways: readonly NeededChange[] = [
        { kind, name },
        { kind: `not-${kind}`, name },
      ]
      return some.flatMap((one) => ways.flatMap((way) => heldAfter([way], one, request) ?? []))
    },
    [held],
  )
}

/** A change before the write stays after it, except where the write sets the value. */
function lasting(before: Toggles, after: Toggles, fixed: Names): Toggles {
  return { on: after.on.union(before.on.difference(fixed)), off: after.off.union(before.off.difference(fixed)) }
}

interface Toggles {
  readonly on: Names
  readonly off: Names
}

/** The relations without parts that hold after some of them are switched on or off. */
function leavesAfter(held: Names, { on, off }: Toggles, request: HypotheticalRequest): Names | undefined {
  if (!on.isDisjointFrom(off)) return undefined
  const wanted = held.union(on).difference(off)
  const touched = fieldGroups(declaredRelations(request).filter(isLeaf), request.resource).filter(({ relations }) =>
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

/** All relations that hold when exactly these relations without parts do. */
export function namesFrom(leaves: Names, request: HypotheticalRequest): readonly string[] {
  return namesWith(declaredRelations(request), leaves)
}

/** Relations without parts that imply all of these names, including the parts of relations that nobody states. */
export function leavesBehind(names: Names, request: HypotheticalRequest): Names {
  const declared = declaredRelations(request)
  const stated = new Set(declared.flatMap((relation) => (isLeaf(relation) ? [relation.name] : [])))
  return declared
    .filter((relation) => names.has(relation.name) && !isLeaf(relation))
    .reduce((leaves, relation) => {
      const held = { relations: leaves, conditions: new Set<string>() }
      const ways = waysOf(relation, { wanted: true, when: 'relation' }, held, request)
      const added = ways.map((way) => leaves.union(new Set(way.map(({ name }) => name))))
      return added.toSorted((a, b) => strangers(a, names, request) - strangers(b, names, request))[0] ?? leaves
    }, names.intersection(stated))
}

/** The number of relations that would hold and that nobody states. */
function strangers(leaves: Names, names: Names, request: HypotheticalRequest): number {
  return namesFrom(leaves, request).filter((name) => !names.has(name)).length
}
