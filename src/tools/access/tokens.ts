/**
 * A token that nobody has seen: its claims aren't known, so each relation to the object that some caller could have is
 * tried both ways.
 */
import type { CallersAlike } from '../../analysis/callers-alike.ts'
import type { Caller } from '../../decide/caller.ts'
import { anyCaller } from '../../decide/callers-and-routes.ts'
import { decideHypothetical, type Question } from '../../decide/decide.ts'
import { type FactSource, NO_FACTS, withFacts } from '../../decide/facts.ts'
import { askingOf } from '../../decide/grants/caller-grants.ts'
import type { DirectPolicy } from '../../decide/grants/direct.ts'
import { isRefusal } from '../../decide/refusal.ts'
import { comparedAttributes, followsFrom, leavesOf, needsCaller, stepOf } from '../../decide/relations/all-kinds.ts'
import { relate } from '../../decide/relations/ownership.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import { represent, type StoredObject } from '../../resources/object.ts'
import type { LoadedPolicy } from '../load-policy.ts'
import { type InCases, type JudgedAccess, type JudgedRequest, judged, questionBy, REFUSED } from './judge.ts'

export interface TokenQuestion {
  readonly judged: JudgedRequest
  readonly alike: CallersAlike
  readonly object: StoredObject
}

interface TokenRelations {
  readonly relations: readonly Relation[]
  /** Those without parts that hold for this caller, or for each. */
  readonly certain: ReadonlySet<Relation>
  readonly unknown: readonly Relation[]
}

/** `id`: of the token's subject, if it is known. */
export async function relationsOfToken(
  { alike, object, judged: { target, snapshot, now } }: TokenQuestion,
  id: string | undefined,
  facts: FactSource,
): Promise<TokenRelations> {
  const caller = id === undefined ? undefined : { id, roles: [], claims: {} }
  const steps = [...new Set(alike.compared.flatMap(leavesOf))].filter(stepOf)
  const ownership = snapshot.ownershipOf(target.resource.name)
  const relating = { ownership, asking: askingOf(caller, undefined, now), steps }
  const { leaves } = await withFacts(relate(relating, represent(object)), facts)
  const holds = (leaf: Relation) => leaves.get(leaf) === true
  const open = alike.lookup ? alike.leading : alike.compared.flatMap(leavesOf).filter(needsCaller)
  const isOpen = (leaf: Relation) => id === undefined || comparedAttributes(leaf).some((name) => name !== 'id')
  return {
    relations: alike.compared,
    certain: new Set([...leaves.keys()].filter(holds)),
    unknown: [...new Set(open)].filter((leaf) => !holds(leaf) && isOpen(leaf)),
  }
}

interface UnknownCase {
  /** The names that hold. */
  readonly assumed: ReadonlySet<string>
  /** Collects the names that a decision asks for. */
  readonly named: Set<string>
}

/** While exactly these of the unknown conditions and relations hold. */
export function decideAssuming(
  { judged: request }: TokenQuestion,
  caller: Caller,
  { relations, certain, unknown }: TokenRelations,
  { assumed, named }: UnknownCase,
): JudgedAccess {
  for (const { name } of unknown) named.add(name)
  const holds = (leaf: Relation) => certain.has(leaf) || (unknown.includes(leaf) && assumed.has(leaf.name))
  const names = relations.filter((relation) => followsFrom(relation, holds)).map(({ name }) => name)
  const found = judgeAssumed(request, questionBy(request, caller, assumed, named), names)
  // Conditions that only others' rules name make no further cases.
  const { holding, subject } = questionBy(request, caller, assumed, new Set())
  const conditions = [...request.snapshot.conditions.values()].filter(holding).map(({ name }) => name)
  return { ...found, unless: deniersOf(request, subject.names, [...names, ...conditions]) }
}

/**
 * Without an object: the users and roles that a token with these roles must not name too, because with one of them it is
 * refused in each case.
 */
export async function refusedWith(
  { judged: request, reviewed }: { readonly judged: JudgedRequest; readonly reviewed: LoadedPolicy },
  roles: readonly string[],
  casesOf: (caller: Caller, id: string | undefined) => Promise<InCases | undefined>,
): Promise<readonly string[]> {
  const callerWith = (id: string | undefined, more: readonly string[]) => {
    return { ...anyCaller(reviewed.policy, { id, roles: [...roles, ...more] }), claims: {} }
  }
  const { holding, subject } = questionBy(request, callerWith(undefined, []), new Set(), new Set())
  const conditions = [...request.snapshot.conditions.values()].filter(holding).map(({ name }) => name)
  const refused: string[] = []
  for (const other of deniersOf(request, subject.names, conditions)) {
    const id = other.startsWith('user:') ? other.slice('user:'.length) : undefined
    const found = await casesOf(callerWith(id, id === undefined ? [other] : []), id)
    if (found && !found.when) refused.push(other)
  }
  return refused
}

/** The subjects whose denies match while these names hold, besides those of the caller. */
function deniersOf(
  { snapshot, target: { resource, endpoint } }: JudgedRequest,
  own: readonly string[],
  names: readonly string[],
): readonly string[] {
  const table = (snapshot as DirectPolicy).table(snapshot.anybody, resource.name, endpoint.action)
  const denies = [table.grant(names), table.grantResult({ stored: names, mixed: names, proposed: names })].flatMap(
    (grant) => grant.denies,
  )
  const subjects = new Set(denies.map(({ subject }) => subject)).difference(new Set(own))
  return [...subjects].filter((subject) => subject !== 'anonymous')
}

/** The gate's decision about the object while exactly these relations hold. */
function judgeAssumed(
  { snapshot, target, field }: JudgedRequest,
  question: Question,
  names: readonly string[],
): JudgedAccess {
  const { endpoint, route, resource } = target
  const by = snapshot as DirectPolicy
  const first = withFacts(decideHypothetical(question, by, names), NO_FACTS)
  if (isRefusal(first)) return REFUSED
  if (first.kind === 'route') return { answer: 'yes', fields: new Set(), evidence: first.evidence }
  if (first.refusal) return REFUSED
  const { fields, lines } = first.grant
  const evidence = { relations: names, lines, fieldsRefused: [], facts: {} }
  if (endpoint.operation === 'delete') return { answer: 'yes', fields: new Set(), evidence }
  if (endpoint.operation === 'read') {
    const view = route.view === undefined ? fields : snapshot.viewOf(resource.name, route.view)
    return judged(fields.intersection(view), field, evidence)
  }
  const result = { names: { stored: names, mixed: names, proposed: names }, changed: field }
  const second = withFacts(decideHypothetical(question, by, names, result), NO_FACTS)
  const asIs =
    !isRefusal(second) && second.kind === 'hypothetical' && !second.refusal ? second.grant.fields : new Set<string>()
  const one = judged(asIs, field, evidence)
  return one.answer === 'no' && judged(fields, field, evidence).answer === 'yes' ? { ...one, answer: 'depends' } : one
}
