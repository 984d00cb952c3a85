/** Reads --becomes: the states of an object before and after a write, `draft>placed`. */
import { heldWith, possibleSets } from '../../analysis/possible-sets.ts'
import type { Policy } from '../../decide/policy.ts'
import { comparedFields, followsFrom, isLeaf, kindOf, leavesOf } from '../../decide/relations/all-kinds.ts'
import { askingAs, type Relation } from '../../decide/relations/relation-kind.ts'
import { quote } from '../../present/quote.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import { assumedNames, NONE } from '../asked/assumed-names.ts'
import { ToolError } from '../load-policy.ts'
import type { Names } from './explanation.ts'
import type { KnownObject, MatchedRequest, StateChange } from './request.ts'

interface Context {
  readonly request: MatchedRequest
  readonly policy: Policy
  readonly resources: Resources
}

/** Throws ToolError. */
export function readStateChange(
  text: string | undefined,
  { request, policy, resources }: Context,
): StateChange | undefined {
  if (text === undefined || request.kind === 'refused') return undefined
  refuseOtherActions(request)
  const resource = resources.byName.get(request.route.resource)
  const relations = [...(policy.ownership.get(request.route.resource)?.relations.values() ?? [])]
  const [left, right, more] = text.split('>')
  if (!resource || left === undefined || right === undefined || more !== undefined) {
    throw new ToolError(`--becomes ${quote(text)} is not a change of states: write draft>placed, or none>placed`)
  }
  const sides = [left, right].map((side) => namesOf(side.trim(), relations, resource))
  const field = fieldOf(text, sides.flat(), resource)
  const states = relations.filter((one) => isLeaf(one) && comparedFields(one).includes(field))
  const [before, after] = sides.map((names) => statesOf(new Set(names.map(({ name }) => name)), states, resource))
  if (!before || !after) throw new Error('a change has two sides')
  return { text, field, states: namesIn(states), before, after }
}

function refuseOtherActions({ method, endpoint: { operation } }: Extract<MatchedRequest, { kind: 'route' }>): void {
  if (operation === 'replace' || operation === 'update') return
  if (operation === 'create') {
    throw new ToolError(
      'POST creates an object, which has no state before: give the relations of the new object with --relation',
    )
  }
  throw new ToolError(`${method} ${operation === 'delete' ? 'leaves no object' : 'writes nothing'}: omit --becomes`)
}

function namesOf(side: string, relations: readonly Relation[], { name: resource }: Resource): readonly Relation[] {
  const declared = relations.map(({ name }) => name)
  const faultOf = (unknown: string) => {
    const fault = `ownership.yaml declares no relation ${quote(unknown)} for ${resource}`
    return `${fault}: --becomes takes ${[...declared, NONE].join(', ')} on each side of >`
  }
  const names = assumedNames(side, { flag: '--becomes', declared, faultOf })
  const named = relations.filter(({ name }) => names.includes(name))
  const whole = named.find((relation) => !isLeaf(relation))
  if (!whole) return named
  const parts = leavesOf(whole).map(({ name }) => name)
  throw new ToolError(`${quote(whole.name)} follows from its parts: --becomes takes ${parts.join(' or ')} instead`)
}

/** The one field that all of these relations look at. */
function fieldOf(text: string, named: readonly Relation[], { fields }: Resource): string {
  const [first, ...others] = named
  const [field] = first ? comparedFields(first) : []
  if (!first || field === undefined) {
    throw new ToolError(`--becomes ${quote(text)} names no state: name one on a side of >`)
  }
  const stranger = others.find((one) => !comparedFields(one).includes(field))
  if (stranger) {
    const looks = (one: Relation) => `${quote(one.name)} looks at ${comparedFields(one).join()}`
    throw new ToolError(`${looks(first)}, and ${looks(stranger)}: --becomes takes states of one field`)
  }
  if (fields.get(field)?.readOnly) {
    throw new ToolError(`no write changes ${quote(field)}, at which ${quote(first.name)} looks: name other states`)
  }
  return field
}

/** The named states, and those that hold with them. */
function statesOf(named: Names, states: readonly Relation[], resource: Resource): Names {
  const text = [...named].join('+')
  const held = heldWith(named.union(namesIn(named.size > 0 ? states.filter(isPresence) : [])), states, resource)
  if (!held) throw new ToolError(`no object is ${quote(text)} at once: --becomes takes states that hold together`)
  const possible = possibleSets(states, resource).filter((set) => held.isSubsetOf(set))
  if (possible.some((set) => set.size === held.size)) return held
  const sets = possible.map((set) => [...set].join('+'))
  throw new ToolError(`objects that are ${quote(text)} have several states: --becomes takes ${sets.join(' or ')}`)
}

/** Whether it holds as soon as the field has a value. */
function isPresence(relation: Relation): boolean {
  return kindOf(relation).condition(relation, askingAs({}, 0)).kind === 'present'
}

function namesIn(relations: readonly Relation[]): Names {
  return new Set(relations.map(({ name }) => name))
}

interface ObjectAndChange {
  readonly known: KnownObject
  readonly becomes: StateChange | undefined
}

/**
 * With the states before the write. --relation may omit them, or say more of them than --becomes does. Throws ToolError.
 */
export function withStates(known: KnownObject, change: StateChange | undefined, context: Context): ObjectAndChange {
  const { request, policy, resources } = context
  if (!change || known.kind !== 'relations' || request.kind === 'refused') return { known, becomes: change }
  const becomes = withTold(change, known, resources.byName.get(request.route.resource), policy)
  const leaves = known.holding.difference(becomes.states).union(becomes.before)
  const relations = [...(policy.ownership.get(request.route.resource)?.relations.values() ?? [])]
  const holding = relations.filter((relation) => followsFrom(relation, ({ name }) => leaves.has(name)))
  return { known: { ...known, holding: namesIn(holding) }, becomes }
}

/** A write whose two sides name the same states changes none of those that --relation says, too. */
function withTold(
  change: StateChange,
  { holding, from }: Extract<KnownObject, { kind: 'relations' }>,
  resource: Resource | undefined,
  { ownership }: Policy,
): StateChange {
  const { states, before, after } = change
  const held = holding.intersection(states)
  if (held.isSubsetOf(before)) return change
  const relations = [...(ownership.get(resource?.name ?? '')?.relations.values() ?? [])]
  const stated = relations.filter(({ name }) => states.has(name))
  const canBe = resource && possibleSets(stated, resource).some((set) => isSame(set, held))
  if (canBe && before.isSubsetOf(held)) return { ...change, before: held, after: isSame(before, after) ? held : after }
  const text = (names: Names) => [...names].join('+') || NONE
  const others = relations.filter((one) => isLeaf(one) && holding.has(one.name) && !states.has(one.name))
  throw new ToolError(
    `${from} says ${text(held)}, and --becomes says ${text(before)} before the write: ` +
      `write ${quote(`${from} ${text(namesIn(others))}`)}, or begin --becomes with ${text(held)}`,
  )
}

function isSame(one: Names, other: Names): boolean {
  return one.symmetricDifference(other).size === 0
}
