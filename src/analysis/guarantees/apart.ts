/**
 * Where one caller can do two acts, on one object or on any two. Between them, everything may have changed that somebody
 * may write; so what ties them is only what nobody can change of an object.
 */
import { changesStored } from '../../decide/callers-and-routes.ts'
import { comparedAttributes, comparedFields, isTimed, kindOf, stepOf } from '../../decide/relations/all-kinds.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import type { Resource } from '../../resources/resource.ts'
import { EVERYWHERE, NOWHERE, type Region } from '../regions.ts'
import type { ResourceSpace } from '../space.ts'
import type { AskedRules, GuaranteedCaller } from './asked-rules.ts'
import { type Callers, type SoughtCaller, withWriters } from './callers.ts'
import {
  type ActClaim,
  type ActPlace,
  type AskedAct,
  type Break,
  type Counting,
  situationsOf,
  WITH_WRITERS,
  whereIn,
} from './claims.ts'

type Two<T> = readonly [T, T]

export interface ApartQuestion {
  /** The actions of the two acts. */
  readonly acts: Two<readonly AskedAct[]>
  readonly callers: Callers
  /** What an object keeps; undefined if the two may be about any two objects. */
  readonly kept: KeptFacts | undefined
  claimsOf(one: AskedAct, caller: GuaranteedCaller): readonly ActClaim[]
}

/** In the order in which they can happen. */
export function* breaksOfTwo(question: ApartQuestion): Generator<Two<Break>> {
  for (const caller of callersOfBoth(question)) {
    for (const pair of claimsOfBoth(question, caller)) yield* situationsOfBoth(pair, question.kept)
  }
}

// ---- Who ------------------------------------------------------------------------------------------------------------

const EVERYBODY: Counting = { act: 'everybody', written: 'everybody' }

/** The smallest: who must be asked about, with a role for the first act, one for the second, and what both must write. */
function* callersOfBoth(question: ApartQuestion): Generator<GuaranteedCaller> {
  const { acts, callers } = question
  const [first, second] = acts
  const sought = callers.seeking(acts.flat(), {
    isFound: (caller) => claimsOfBoth(question, caller).next().done !== true,
    couldBe: (caller) => meet(caller, WITH_WRITERS, WITH_WRITERS),
  })
  const meet = (caller: GuaranteedCaller, ...[one, other]: Two<Counting>) =>
    whereIn(first, caller, one).some((a) =>
      whereIn(second, caller, other).some((b) => common(a, b, question.kept) !== NOWHERE),
    )
  const seen = new Set<string>()
  for (const start of callers.required(acts.flatMap(([one]) => (one ? [one.act.subjects] : [])))) {
    for (const one of withAllowed(start, first, sought)) {
      if (!meet(one, WITH_WRITERS, EVERYBODY)) continue
      for (const both of withAllowed(one, second, sought)) yield* withWriters(both, sought, seen)
    }
  }
}

/** The caller, and with each further role or user that is granted more of the act. */
function* withAllowed(
  caller: GuaranteedCaller,
  acts: readonly AskedAct[],
  { further, join }: SoughtCaller,
): Generator<GuaranteedCaller> {
  const before = new Map(whereIn(acts, caller, WITH_WRITERS).map(({ statement, region }) => [statement, region]))
  if (before.size > 0) yield caller
  for (const one of further) {
    const more = join(caller, one)
    const isMore = ({ statement, region }: ActPlace) =>
      statement.asked.space.regions.minus(region, before.get(statement) ?? NOWHERE) !== NOWHERE
    if (more && whereIn(acts, more, WITH_WRITERS).some(isMore)) yield more
  }
}

// ---- Where ----------------------------------------------------------------------------------------------------------

/** What nobody can change of an object that is there. */
export interface KeptFacts {
  readonly space: ResourceSpace
  /** Of the object as it is stored. */
  readonly variables: ReadonlySet<number>
  readonly fields: ReadonlySet<string>
}

/** What the object of both acts keeps; nowhere if they can't be about one object. */
function common(one: ActPlace, other: ActPlace, kept: KeptFacts | undefined): Region {
  if (!kept) return EVERYWHERE
  const { operation } = one.statement
  const isOnce = operation === 'create' || operation === 'delete'
  if (isOnce && other.statement.operation === operation) return NOWHERE
  const { regions } = kept.space
  const keptIn = ({ region }: ActPlace) => regions.whatever(region, (variable) => !kept.variables.has(variable))
  return regions.both(keptIn(one), keptIn(other))
}

interface ClaimsOfBoth {
  readonly claims: Two<ActClaim>
  readonly common: Region
}

function* claimsOfBoth({ acts, kept, claimsOf }: ApartQuestion, caller: GuaranteedCaller): Generator<ClaimsOfBoth> {
  const [first = [], second = []] = acts.map((some) =>
    some.flatMap((one) => claimsOf(one, caller)).filter(({ broken }) => broken !== NOWHERE),
  )
  for (const a of first) {
    for (const b of second) {
      const place = (claim: ActClaim) => ({ statement: claim, region: claim.broken })
      const shared = common(place(a), place(b), kept)
      if (shared !== NOWHERE) yield { claims: [a, b], common: shared }
    }
  }
}

/** Situations of the second act for one of the first. */
const MOST_SECOND = 4

/** Those where the second act finds what the first one leaves come first. */
function* situationsOfBoth({ claims: [a, b], common: shared }: ClaimsOfBoth, kept: KeptFacts | undefined) {
  if (!kept) return yield* situationsInOrder(endsCaller(a) ? [b, a] : [a, b], (_, { broken }) => broken)
  const both = (one: Region, other: Region) => kept.space.regions.both(one, other)
  const [one, other] = [a, b].map((claim) => ({ ...claim, broken: both(claim.broken, shared) })) as [ActClaim, ActClaim]
  const orders = [[one, other] as const, [other, one] as const].filter(
    ([first, second]) => first.operation !== 'delete' && second.operation !== 'create',
  )
  for (const order of orders) {
    yield* situationsInOrder(order, (shown, { broken }) => both(broken, leftBy(shown, kept)))
  }
  for (const order of orders.slice(0, 1)) {
    yield* situationsInOrder(order, ({ holding }, { broken }) =>
      both(broken, kept.space.regions.exactly(holding, kept.variables)),
    )
  }
}

/** Who changes or deletes their own users record may do nothing more. */
function endsCaller({ asked, operation }: ActClaim): boolean {
  return asked.resource.name === 'users' && (operation === 'delete' || changesStored(operation))
}

/** `then`: where the second act is broken after the first. */
function* situationsInOrder(
  [first, second]: Two<ActClaim>,
  then: (shown: Break, second: ActClaim) => Region,
): Generator<Two<Break>> {
  for (const one of situationsOf(first)) {
    for (const other of situationsOf({ ...second, broken: then(one, second) }).take(MOST_SECOND)) yield [one, other]
  }
}

/** Where nothing has changed since the act. */
function leftBy({ holding, operation }: Break, { space }: KeptFacts): Region {
  const { before, after } = space.variablesOf(new Set(space.leaves.map(({ name }) => name)))
  const left = changesStored(operation) ? after : before
  return space.regions.exactly(new Set(before.filter((_, i) => holding.has(left[i] ?? -1))), before)
}

// ---- What an object keeps -------------------------------------------------------------------------------------------

/** `changing`: the rules about all that changes objects; `callers` are all that differ there. */
export function keptFacts(
  space: ResourceSpace,
  resource: Resource,
  changing: readonly { readonly asked: AskedRules; readonly callers: readonly GuaranteedCaller[] }[],
): KeptFacts {
  const isKept = (name: string) =>
    resource.fields.get(name)?.readOnly
      ? name !== 'updatedAt'
      : changing.every(({ asked, callers }) => callers.every((caller) => keepsField(asked, caller, name)))
  const compared = new Set(space.leaves.flatMap(comparedFields))
  const fields = new Set([...resource.fields.keys()].filter((name) => compared.has(name) && isKept(name)))
  const leaves = space.leaves.filter((leaf) => dependsOn(leaf, fields))
  return { space, fields, variables: new Set(space.variablesOf(new Set(leaves.map(({ name }) => name))).before) }
}

/** Whether the relation depends on these fields and on who the caller is alone. */
function dependsOn(leaf: Relation, fields: ReadonlySet<string>): boolean {
  const ofCaller = comparedAttributes(leaf).every((name) => name === 'id')
  return ofCaller && !isTimed(leaf) && !stepOf(leaf) && comparedFields(leaf).every((name) => fields.has(name))
}

/** Whether the caller may write the field only where it is the caller's id, and stays so. */
function keepsField(asked: AskedRules, caller: GuaranteedCaller, name: string): boolean {
  const { space, resource } = asked
  const { regions } = space
  const isId = (leaf: Relation) => {
    const { field, attribute } = kindOf(leaf).equates?.(leaf) ?? {}
    return field === name && attribute === 'id' && !resource.fields.get(name)?.list
  }
  const held = space.leaves.filter(isId).map((leaf) => {
    const { stored, proposed } = space.ofLeaf(leaf)
    return regions.both(stored, proposed)
  })
  const written = regions.all([
    space.second,
    regions.any(asked.granted([name], caller)),
    caller.kind === 'anonymous' ? space.withoutCredentials : EVERYWHERE,
  ])
  return regions.minus(written, regions.any(held)) === NOWHERE
}
