/**
 * Makes a counterexample of a break: a caller, requests and objects for which the server gives what the guarantee denies,
 * or refuses what it promises. The stages of the server have answered each that is shown.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Break } from '../../analysis/guarantees/claims.ts'
import type { Breaking } from '../../analysis/guarantees/prove.ts'
import type { Caller } from '../../decide/caller.ts'
import { changesStored, type RouteMethod } from '../../decide/callers-and-routes.ts'
import { type Policy, USERS } from '../../decide/policy.ts'
import { comparedFields } from '../../decide/relations/all-kinds.ts'
import type { ConditionFacts } from '../../decide/request-conditions/condition-kind.ts'
import { namesIn } from '../../decide/rules/terms.ts'
import type { Json, Representation, Resources } from '../../resources/resource.ts'
import { createdFixture, type PairFixture, relatedFixture, resultFixture } from '../matrix/fixture/related-fixture.ts'
import { conditionsAbout, requestFixture } from '../matrix/fixture/request-fixture.ts'
import { CALLER, idSeries, OBJECT, type SamplesOf, sampleResources, withCompared } from '../matrix/fixture/samples.ts'
import {
  type Attributes,
  leavesIn,
  type PlacedObject,
  relatesSo,
  type WantedPair,
} from '../matrix/fixture/wanted-object.ts'
import { credentialOf } from '../matrix/predict/cell-fixture.ts'
import { objectsOf } from '../matrix/predict/memory-store.ts'
import { type Answer, evaluatePolicy } from '../matrix/predict/predict.ts'
import { type Predictor, predictorOf } from '../matrix/predict/predict-cell.ts'

/** A request for the act; for two acts, both of one caller. */
export type Counterexample = readonly [ShownAct, ...ShownAct[]]

export interface ShownAct {
  readonly by: Break
  readonly shown: ShownRequest
}

export interface ShownRequest {
  readonly caller: Caller | undefined
  /** What else conditions look at. */
  readonly facts: Pick<ConditionFacts, 'now' | 'address' | 'credential'>
  readonly method: string
  /** With the object's id. */
  readonly path: string
  readonly isConditional: boolean
  readonly body: Representation | undefined
  readonly status: number
  /** The object before the request; undefined for a create. */
  readonly before: Representation | undefined
  /** What a write makes of it; undefined where nothing is written. */
  readonly after: Representation | undefined
  /** The objects on which its relations rest. */
  readonly others: readonly PlacedObject[]
}

/** How many values of a field a body tries: the stored one may be among them. */
const MOST_VALUES = 4

export class Counterexamples {
  readonly #policy: Policy
  readonly #resources: Resources
  readonly #samples: SamplesOf
  readonly #predictor: Predictor

  constructor(policy: Policy, resources: Resources, now: number) {
    this.#policy = policy
    this.#resources = resources
    this.#samples = withCompared(sampleResources(resources), resources, policy)
    const none = () => ({ kind: 'impossible', why: '' }) as const
    this.#predictor = predictorOf(resources, none, now)
  }

  /** Undefined if no such requests were found. */
  async find({ acts: [first, ...more], kept }: Breaking): Promise<Counterexample | undefined> {
    const shown = await this.#request(first)
    if (!shown) return undefined
    const found: [ShownAct, ...ShownAct[]] = [{ by: first, shown }]
    // Who deletes their own users record does nothing more.
    if (more.length > 0 && first.operation === 'delete' && shown.before?.id === shown.caller?.id) return undefined
    for (const by of more) {
      const next = await this.#request(by, { shown: found[0].shown, kept })
      if (!next) return undefined
      found.push({ by, shown: next })
    }
    return found
  }

  async #request(shown: Break, earlier?: Earlier): Promise<ShownRequest | undefined> {
    for (const routeMethod of this.#predictor.routeMethods.values()) {
      const found = isFor(routeMethod, shown, this.#policy) ? await this.#by(routeMethod, shown, earlier) : undefined
      if (found) return found
    }
    return undefined
  }

  async #by(routeMethod: RouteMethod, shown: Break, earlier: Earlier | undefined): Promise<ShownRequest | undefined> {
    const setup = this.#setUp(routeMethod, shown, earlier)
    if (!setup) return undefined
    const evaluated = evaluatePolicy(this.#policy, this.#resources, setup.facts.now)
    const { caller, object, others, facts } = setup
    const { route, method } = routeMethod
    const id = route.kind === 'item' ? String(object?.id) : undefined
    const placed = [...(object ? [{ resource: shown.resource.name, object }] : []), ...others]
    for (const body of bodiesFor(setup, shown, this.#samples)) {
      const asked = { caller, id, body, facts, objects: objectsOf(placed), conditional: true }
      const answer = await this.#predictor.predict({ ...asked, evaluated, routeMethod })
      const { status, objects } = answer
      if (!shows(answer, body, setup, shown)) continue
      const made = shown.operation === 'create' ? answer.of : objects.get(shown.resource.name)?.get(String(object?.id))
      const isWrite = body !== undefined && status < 300
      const path = route.path.replace('{id}', () => encodeURIComponent(id ?? ''))
      const isConditional = route.precondition === 'required'
      const after = isWrite ? made : undefined
      return { caller, facts, method, path, isConditional, body, status, before: object, after, others }
    }
    return undefined
  }

  /** The caller and the objects of the situation. */
  #setUp({ route, method, endpoint }: RouteMethod, shown: Break, earlier?: Earlier): Setup | undefined {
    const { operation, situation, caller: who } = shown
    const facts = this.#factsOf(shown, endpoint)
    const pair = facts && this.#pairOf(shown, { now: facts.now, own: route.kind === 'caller' }, earlier)
    if (!pair) return undefined
    const { callerId } = pair
    const callerWith = (claims: Caller['claims']): Caller | undefined =>
      callerId === undefined ? undefined : { id: callerId, roles: who.roles, claims, ...credentialOf(facts) }
    if (operation === 'create') {
      const made = createdFixture(pair)
      if (made.kind !== 'result') return undefined
      return {
        pair,
        facts,
        caller: callerWith(made.attributes),
        attributes: made.attributes,
        others: made.others,
        base: made.body,
      }
    }
    const found = (earlier?.kept && unchangedSince(earlier, pair)) ?? relatedFixture(pair)
    if (found.kind !== 'related') return undefined
    const { attributes, others } = found
    const object = this.#withFields(found.object, { pair, attributes, others }, shown)
    const stored = { pair, facts, caller: callerWith(attributes), attributes, object, others }
    if (!changesStored(operation)) return stored
    const becomes = new Set(situation.proposed)
    const result = resultFixture(pair, { ...found, object }, { becomes, method })
    return result.kind === 'result'
      ? { ...stored, others: [...others, ...result.others], base: result.body }
      : undefined
  }

  #pairOf(
    { resource, situation, caller }: Break,
    { now, own }: Pick<WantedPair, 'now' | 'own'>,
    earlier: Earlier | undefined,
  ): WantedPair | undefined {
    const samples = this.#samples.get(resource.name)
    if (!samples) return undefined
    const callerId = caller.kind === 'anonymous' ? undefined : (caller.user?.slice('user:'.length) ?? CALLER)
    const first = earlier ? SECOND : OBJECT
    const before = keptOf(earlier)
    return {
      resources: this.#resources,
      samplesOf: this.#samples,
      resource,
      samples,
      ownership: this.#policy.ownership.get(resource.name),
      relations: new Set(situation.stored),
      callerId,
      own,
      id: own && callerId !== undefined ? callerId : (before?.id ?? first),
      now,
      newId: idSeries(first),
      ...(before && { fixed: before.fixed }),
    }
  }

  /** Conditions that no rule about the request names don't count. */
  #factsOf({ act, resource, situation, caller, from }: Break, endpoint: RouteMethod['endpoint']) {
    const { conditions } = this.#policy
    const named = new Set([
      ...conditionsAbout(this.#policy, resource, endpoint),
      ...namesIn(act.terms ?? { before: [] }),
    ])
    const counting = [...conditions.values()].filter(({ name }) => named.has(name))
    const wanted = new Set(situation.conditions.filter((name) => named.has(name)))
    return requestFixture(counting, wanted, { now: from, hasCredentials: caller.kind !== 'anonymous' })
  }

  /** An answer shows no field that the object lacks. */
  #withFields(
    object: Representation,
    among: Pick<Setup, 'pair' | 'attributes' | 'others'>,
    shown: Break,
  ): Representation {
    // The caller's own record has the caller's roles.
    const isOwn =
      shown.resource.name === USERS && object.id === among.pair.callerId && shown.resource.fields.has('roles')
    let filled: Representation = isOwn ? { ...object, roles: shown.caller.roles } : object
    const isLacking = (name: string) =>
      shown.resource.fields.has(name) && !Object.hasOwn(object, name) && !among.pair.fixed?.has(name)
    for (const field of shown.fields.filter(isLacking)) {
      const values = this.#samples.get(shown.resource.name)?.values.get(field) ?? []
      const fit = values
        .slice(0, MOST_VALUES)
        .find((value) => isSo(among, { ...filled, [field]: value }, shown.situation.stored))
      if (fit !== undefined) filled = { ...filled, [field]: fit }
    }
    return filled
  }
}

/** The request before, and the fields that its object keeps; absent where the next one is about another object. */
interface Earlier {
  readonly shown: ShownRequest
  readonly kept: ReadonlySet<string> | undefined
}

/** The ids of a second object differ from those of the first. */
const SECOND = '01980000-0000-7000-8000-00000001000e'

/** The object that the next request is about: what it keeps. */
function keptOf(earlier: Earlier | undefined) {
  const object = earlier?.kept && leftBy(earlier.shown)
  if (!object || !earlier?.kept) return undefined
  return { id: String(object.id), fixed: new Map([...earlier.kept].map((name) => [name, object[name]] as const)) }
}

function leftBy({ before, after }: ShownRequest): Representation | undefined {
  return after ?? before
}

/** The caller and the objects as the request before has left them, if they relate so. */
function unchangedSince({ shown }: Earlier, pair: WantedPair): Extract<PairFixture, { kind: 'related' }> | undefined {
  const object = leftBy(shown)
  const attributes = (shown.caller?.claims ?? {}) as Attributes
  if (!object || (pair.own && object.id !== pair.callerId)) return undefined
  const { others } = shown
  return isSo({ pair, attributes, others }, object, [...pair.relations])
    ? { kind: 'related', attributes, object, others }
    : undefined
}

/** What a request is made of. */
interface Setup {
  readonly pair: WantedPair
  readonly facts: ConditionFacts
  readonly caller: Caller | undefined
  readonly attributes: Caller['claims']
  /** Undefined for a create. */
  readonly object?: Representation
  readonly others: readonly PlacedObject[]
  /** Of a body: what makes the relations of the result hold. */
  readonly base?: Representation
}

/** A route shows the fields of its view alone. */
function isFor({ route, method, endpoint, resource, action }: RouteMethod, shown: Break, { views }: Policy): boolean {
  if (resource !== shown.resource || action !== shown.action || endpoint.operation !== shown.operation) return false
  if (method === 'HEAD' || route.redirect || route.gateway) return false
  const view = route.view === undefined ? undefined : views.get(resource.name)?.get(route.view)
  return view === undefined || !shown.act.fields || shown.fields.some((field) => view.has(field))
}

function isSo(
  { pair, attributes, others }: Pick<Setup, 'pair' | 'attributes' | 'others'>,
  object: Representation,
  relations: readonly string[],
): boolean {
  const { ownership, callerId, now } = pair
  const known = callerId === undefined ? {} : { ...(attributes as Record<string, never>), id: callerId }
  return relatesSo({ ownership, attributes: known, now, world: others }, object, new Set(relations))
}

/** Undefined is a request without a body. */
function* bodiesFor(setup: Setup, shown: Break, samples: SamplesOf): Generator<Representation | undefined> {
  const { base } = setup
  const { act, operation, resource } = shown
  if (!base) return yield undefined
  if (!act.fields && (operation === 'create' || Object.keys(base).length > 0)) yield base
  for (const field of fieldsToWrite(setup, shown)) {
    if (Object.hasOwn(base, field)) yield base
    const values = (samples.get(resource.name)?.values.get(field) ?? []).slice(0, MOST_VALUES)
    yield* values.filter((value) => isFit(setup, shown, field, value)).map((value) => ({ ...base, [field]: value }))
  }
  if (!act.fields) yield base
}

/** Those at which no relation looks come first. */
function fieldsToWrite({ pair }: Setup, { act, fields, granted, resource }: Break): readonly string[] {
  const choices = act.fields ? fields : [...granted, ...resource.fields.keys()]
  const compared = comparedIn(pair)
  return [...new Set(choices)]
    .filter((name) => resource.fields.get(name)?.readOnly === false)
    .toSorted((a, b) => Number(compared.has(a)) - Number(compared.has(b)))
}

/** Whether the value is another one than the stored one, and leaves the wanted relations. */
function isFit(setup: Setup, { operation, situation }: Break, field: string, value: Json): boolean {
  const { object = {}, base, pair } = setup
  if (isDeepStrictEqual(value, object[field])) return false
  const wanted = operation === 'create' ? situation.stored : situation.proposed
  return !comparedIn(pair).has(field) || isSo(setup, { ...object, ...base, [field]: value }, wanted)
}

function comparedIn({ ownership }: WantedPair): ReadonlySet<string> {
  return new Set(leavesIn(ownership).flatMap(comparedFields))
}

const REFUSED: ReadonlySet<number> = new Set([401, 403, 404])

/** Whether the answer gives what the guarantee denies, or refuses what it promises. */
function shows(answer: Answer, body: Representation | undefined, { object }: Setup, shown: Break): boolean {
  const { act, fields, operation } = shown
  const isNever = act.kind !== 'always'
  const asked = act.fields ? fields : []
  if (operation === 'list') {
    const row = answer.items?.find((item) => item.object.id === object?.id)?.shown
    return answer.status >= 300 ? !isNever && REFUSED.has(answer.status) : isNever === hasSome(row, asked)
  }
  if (answer.status >= 300) return !isNever && REFUSED.has(answer.status)
  if (operation === 'read') return isNever === hasSome(answer.shown, asked)
  if (!isNever) return false
  if (asked.length === 0 || !body) return true
  const made = operation === 'create' ? answer.of : answer.objects.get(shown.resource.name)?.get(String(object?.id))
  return asked.some((field) => Object.hasOwn(body, field) && isSame(made?.[field], body[field]))
}

/** Of a PATCH, null removes the field. */
function isSame(made: Json | undefined, asked: Json | undefined): boolean {
  return isDeepStrictEqual(made ?? null, asked ?? null)
}

/** Whether it is there, and has one of these fields if some are asked. */
function hasSome(representation: Representation | undefined, fields: readonly string[]): boolean {
  if (!representation) return false
  return fields.length === 0 || fields.some((field) => Object.hasOwn(representation, field))
}
