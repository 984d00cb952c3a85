/** Random requests under policies of the second edition, as a server answers them, and the records that it makes. */
import fc from 'fast-check'
import { shownFields } from '../../src/analysis/replay/recorded.ts'
import { FileError } from '../../src/base/diagnostic.ts'
import type { Decision } from '../../src/decide/decision.ts'
import type { Evidence } from '../../src/decide/evidence.ts'
import { withFacts } from '../../src/decide/facts.ts'
import { directPolicy } from '../../src/decide/grants/direct.ts'
import { proposeNew, proposeReplacement, proposeUpdate } from '../../src/decide/permits/propose.ts'
import { NO_MASKS } from '../../src/decide/policy.ts'
import { orRefuse } from '../../src/decide/refusal.ts'
import { type DecisionRecord, parseRecord } from '../../src/decision-log/decision-record.ts'
import { recordLine } from '../../src/decision-log/record-line.ts'
import type { ActivePolicy } from '../../src/policy/live/active-policy.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { Revision } from '../../src/policy/policy-files.ts'
import { represent } from '../../src/resources/object.ts'
import type { Method, Operation, Resource, Resources, Route } from '../../src/resources/resource.ts'
import type { RouteMatch } from '../../src/resources/routing/match-route.ts'
import { type RequestFacts, recordOf } from '../../src/server/answers/record.ts'
import { problemOf } from '../../src/server/answers/to-problem.ts'
import { decideRequest, type Gate } from '../../src/server/stages/authorize.ts'
import type { Writable } from '../../src/server/stages/state.ts'
import { type Asked, randomAsked } from '../policy/arbitrary-language.ts'
import { LANGUAGE_RESOURCES } from '../policy/language-fixture.ts'
import { factsOf, filesOfWorld, questionOf } from '../policy/language-product.ts'
import type { OracleRequest } from '../policy/oracle/answer.ts'
import type { World } from '../policy/world.ts'

const METHODS: Readonly<Record<Operation, Method>> = {
  list: 'GET',
  read: 'GET',
  create: 'POST',
  replace: 'PUT',
  update: 'PATCH',
  delete: 'DELETE',
  watch: 'GET',
  options: 'OPTIONS',
}

const STATUS: Readonly<Partial<Record<Operation, 201 | 204>>> = { create: 201, delete: 204, options: 204 }

/** The policy of a world; two policies of one test have two revisions. */
export function activeOf({ policy, now }: Pick<World, 'policy' | 'now'>, revision: string): ActivePolicy {
  const parsed = parsePolicy(filesOfWorld({ policy } as World), LANGUAGE_RESOURCES)
  const snapshot = directPolicy(parsed, LANGUAGE_RESOURCES, now)
  return { revision: revision as Revision, snapshot, blocked: new Map() }
}

function routeOf({ route, endpoint }: Pick<RouteMatch, 'route' | 'endpoint'>): Route {
  const path = `/${route.resource}${route.kind === 'item' ? '/{id}' : ''}/${endpoint.action}`
  return { ...route, path, endpoints: new Map([[METHODS[endpoint.operation], endpoint]]) }
}

export interface Served {
  readonly record: DecisionRecord
  readonly resources: Resources
}

/** What the server does with a request, as far as the policy is concerned, and the record that it makes. */
export async function serve(policy: ActivePolicy, asked: Asked): Promise<Served> {
  const { world, request } = asked
  const question = questionOf(policy.snapshot, asked)
  const { resource, subject, id, now, address } = question
  const { endpoint } = question
  const route = routeOf(question)
  const { caller } = subject
  const facts = factsOf(world)
  const resources: Resources = { ...LANGUAGE_RESOURCES, routes: [route] }
  const match: RouteMatch = { kind: 'route', route, endpoint, id, target: { path: route.path, query: '' } }
  const exchange: Writable<RequestFacts> = {
    requestId: 'r',
    instance: 'i',
    started: 0,
    at: now,
    time: new Date(now).toISOString(),
    method: METHODS[endpoint.operation],
    revision: policy.revision,
    masks: NO_MASKS,
    policy,
    match,
    authentication: caller ? { kind: 'caller', caller } : { kind: 'anonymous' },
    ...(address === undefined ? {} : { address: countedOf(address) }),
  }
  const store: Gate['store'] = {
    get: async (name, one) => facts.object(name, one),
    lookup: async (lookup) => facts.lookup(lookup),
  }
  try {
    const decision = await decideRequest({ resources, store }, policy, { match, caller, at: now, address })
    exchange.decision = decision
    if (decision.kind === 'list') decision.recordQuery({ queried: [], selected: undefined })
    const evidence = write(decision, resource, request, world)
    exchange.outcome = {
      status: STATUS[endpoint.operation] ?? 200,
      headers: {},
      body: undefined,
      ...(evidence ? { evidence } : {}),
    }
  } catch (error) {
    exchange.problem = problemOf(error, caller)
  }
  const record = parseRecord(recordLine(recordOf(exchange)))
  if (!record) throw new Error('a record could not be read again')
  return { record, resources }
}

/** As records count an address. */
function countedOf(address: string): string {
  if (address.startsWith('::ffff:')) return address.slice('::ffff:'.length)
  return address.includes(':') ? '2001:db8:0:0::/64' : address
}

/** As the handlers of src/server/routes do. */
function write(
  decision: Decision,
  resource: Resource,
  { action, operation = action, body = {} }: OracleRequest,
  world: World,
): Evidence | undefined {
  const facts = factsOf(world)
  if (decision.kind === 'delete') return decision.permit().evidence
  if (decision.kind === 'create') {
    const proposal = proposeNew(resource, body, { id: 'new', filled: decision.filled, now: '2026-01-01T00:00:00.000Z' })
    return orRefuse(withFacts(decision.permit(proposal), facts)).evidence
  }
  if (decision.kind !== 'update') return undefined
  const before = represent(decision.object)
  const { writable, readable, filled } = decision
  const proposal =
    operation === 'replace'
      ? proposeReplacement(resource, body, { before, writable, readable, filled })
      : proposeUpdate(resource, body, before)
  return orRefuse(withFacts(decision.permit(proposal), facts)).evidence
}

/** The other policy is that of another world, or the same with rules of the other world. */
export const randomPair = fc.tuple(randomAsked, randomAsked, fc.boolean()).map(([asked, other, isOther]) => {
  const { policy } = asked.world
  const now = isOther ? other.world.policy : { ...policy, conditions: other.world.policy.conditions ?? new Map() }
  return { asked, policy: now }
})

/** Undefined where the parser refuses the policy. */
export function candidateOf(policy: World['policy'], { world }: Asked): ActivePolicy | undefined {
  try {
    const { now } = world
    return activeOf(now === undefined ? { policy } : { policy, now }, 'b')
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return undefined
  }
}

/** What a client sees of the answer, and its record of the policy. */
export function answerOf({ record: { status, problem, fieldsRefused, facts } }: Served): unknown {
  if (problem !== undefined) return { status, problem, fieldsRefused: fieldsRefused?.toSorted() }
  return { status, where: facts?.where, shown: facts && shownFields(facts, facts) }
}
