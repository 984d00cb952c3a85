/** Random requests about docs, as a server with a policy answers them, and the records that it makes. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { compare } from '../../src/analysis/replay/compare.ts'
import type { Again } from '../../src/analysis/replay/decide-again.ts'
import { shownFields } from '../../src/analysis/replay/recorded.ts'
import { Problem } from '../../src/base/problems/problem.ts'
import type { Caller } from '../../src/decide/caller.ts'
import { meets } from '../../src/decide/conditions/condition.ts'
import type { Decision } from '../../src/decide/decision.ts'
import type { Evidence } from '../../src/decide/evidence.ts'
import type { ListDecision } from '../../src/decide/grants/list-decision.ts'
import type { Proposal } from '../../src/decide/permits/issue-permits.ts'
import { proposeNew, proposeReplacement, proposeUpdate } from '../../src/decide/permits/propose.ts'
import { NO_MASKS } from '../../src/decide/policy.ts'
import { orRefuse } from '../../src/decide/refusal.ts'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import { recordLine } from '../../src/decision-log/record-line.ts'
import type { ActivePolicy } from '../../src/policy/live/active-policy.ts'
import type { Revision } from '../../src/policy/policy-files.ts'
import { represent } from '../../src/resources/object.ts'
import type { Endpoint, Json, Method, Resources, Route } from '../../src/resources/resource.ts'
import type { RouteMatch } from '../../src/resources/routing/match-route.ts'
import { type RequestFacts, recordOf } from '../../src/server/answers/record.ts'
import { problemOf } from '../../src/server/answers/to-problem.ts'
import { readListQuery } from '../../src/server/input/read-query.ts'
import { decideRequest, type Gate } from '../../src/server/stages/authorize.ts'
import type { Writable } from '../../src/server/stages/state.ts'
import { rowWriter } from '../../src/store/lists/json-row.ts'
import { listedOf } from '../listed.ts'
import { randomCaller, randomObject } from '../policy/arbitrary.ts'
import type { WrittenPolicy } from '../policy/arbitrary-policy.ts'
import { DOCS, RESOURCES } from '../policy/fixture.ts'
import { settled, snapshotOf, storedOf } from '../policy/product.ts'
import type { OracleCaller, Plain } from '../policy/world.ts'

const ENDPOINTS = {
  list: ['GET', '/docs'],
  create: ['POST', '/docs'],
  read: ['GET', '/docs/{id}'],
  replace: ['PUT', '/docs/{id}'],
  update: ['PATCH', '/docs/{id}'],
  delete: ['DELETE', '/docs/{id}'],
} as const satisfies Record<string, readonly [Method, string]>

export type ActionName = keyof typeof ENDPOINTS

function routeOf(path: string): Route {
  const endpoints = Object.entries(ENDPOINTS).filter(([, [, at]]) => at === path)
  return {
    path,
    resource: DOCS.name,
    kind: path.includes('{id}') ? 'item' : 'collection',
    endpoints: new Map(
      endpoints.map(([action, [method]]) => [method, { operation: action, action } as Endpoint] as const),
    ),
    allow: '',
  }
}

const ROUTES = [routeOf('/docs'), routeOf('/docs/{id}')]
export const WITH_ROUTES: Resources = { ...RESOURCES, routes: ROUTES }

/**
 * What a request meets that no policy decides. A patch that doesn't apply is refused before its outcome is looked at.
 */
type Fate = 'none' | 'unreadable' | 'conflict' | 'unfit' | 'unmet'

export interface Request {
  readonly caller: OracleCaller
  readonly action: ActionName
  readonly stored: Plain
  readonly other: Plain
  readonly named: readonly string[]
  readonly fate: Fate
  /** Of a list. */
  readonly query: ReadonlyMap<string, string>
}

const AT = Date.UTC(2026, 0)
const FIELDS = [...DOCS.fields.keys()]

const randomQuery: fc.Arbitrary<ReadonlyMap<string, string>> = fc
  .record({
    filters: fc.subarray(FIELDS, { maxLength: 1 }),
    sort: fc.option(fc.constantFrom(...FIELDS), { freq: 2 }),
    fields: fc.option(fc.subarray(FIELDS, { minLength: 1 }), { freq: 3 }),
    faulty: fc.integer({ min: 0, max: 9 }),
  })
  .map(({ filters, sort, fields, faulty }) => {
    const values: Record<string, string> = { count: '1', open: 'true' }
    return new Map([
      ...filters.map((name) => [name, values[name] ?? 'draft'] as const),
      ...(sort === null ? [] : [['sort', `-${sort}`] as const]),
      ...(fields === null ? [] : [['fields', fields.join()] as const]),
      ...(faulty === 0 ? [['count', 'perhaps'] as const] : []),
    ])
  })

export const randomRequest: fc.Arbitrary<Request> = fc.record({
  caller: randomCaller,
  action: fc.constantFrom(...(Object.keys(ENDPOINTS) as ActionName[]), 'update' as const, 'list' as const),
  stored: randomObject,
  other: randomObject,
  named: fc.subarray(FIELDS, { maxLength: 4 }),
  fate: fc.constantFrom<Fate>('none', 'none', 'none', 'unreadable', 'conflict', 'unfit', 'unmet'),
  query: randomQuery,
})

/** Two policies have one revision exactly when they are the same, as far as the test is concerned. */
export function activeOf({ files }: Pick<WrittenPolicy, 'files'>): ActivePolicy {
  const revision = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16)
  return { revision: revision as Revision, snapshot: snapshotOf(files), blocked: new Map() }
}

export interface Answered {
  readonly record: DecisionRecord
  /** What a list shows of the two objects. */
  readonly rows: readonly string[]
}

/** What the server does with a request, as far as the policy is concerned, and the record that it makes. */
export async function live(policy: ActivePolicy, request: Request): Promise<Answered> {
  const { caller: asking, action, stored } = request
  const [method, path] = ENDPOINTS[action]
  const route = ROUTES.find((one) => one.path === path) as Route
  const endpoint = route.endpoints.get(method) as Endpoint
  const id = route.kind === 'item' ? String(stored.id) : undefined
  const match: RouteMatch = { kind: 'route', route, endpoint, id, target: { path, query: '' } }
  const caller: Caller | undefined =
    asking.id === undefined ? undefined : { id: asking.id, roles: asking.roles, claims: asking.claims }
  const gate: Gate = {
    resources: WITH_ROUTES,
    store: { get: async () => storedOf(stored), lookup: async () => false },
  }
  const exchange: Writable<RequestFacts> = {
    requestId: 'r',
    instance: 'i',
    started: 0,
    at: AT,
    time: new Date(AT).toISOString(),
    method,
    revision: policy.revision,
    masks: NO_MASKS,
    policy,
    match,
    authentication: caller ? { kind: 'caller', caller } : { kind: 'anonymous' },
  }
  let rows: readonly string[] = []
  try {
    const decision = await decideRequest(gate, policy, { match, caller, at: AT })
    exchange.decision = decision
    if (decision.kind === 'list') rows = list(decision, request)
    const evidence = write(decision, request)
    exchange.outcome = { status: 200, headers: {}, body: undefined, ...(evidence ? { evidence } : {}) }
  } catch (error) {
    exchange.problem = problemOf(error, caller)
  }
  return { record: JSON.parse(recordLine(recordOf(exchange))), rows }
}

function list(decision: ListDecision, { query, stored, other }: Request): readonly string[] {
  const { fields } = readListQuery(query, { page: { default: 50, max: 200 } }, decision)
  const listed = [stored, other].filter((object) => meets(decision.where, object))
  return listed
    .map(storedOf)
    .map(listedOf)
    .map(rowWriter(decision.rowFields(fields)))
}

/** As the handlers of src/server/routes/ do. */
function write(decision: Decision, request: Request): Evidence | undefined {
  const { other, named, fate, action } = request
  if (decision.kind === 'delete') {
    const permit = decision.permit()
    meet(fate, 'unmet')
    return permit.evidence
  }
  if (decision.kind !== 'create' && decision.kind !== 'update') return undefined
  meet(fate, 'unreadable')
  const values = named.flatMap((field) => (other[field] === undefined ? [] : [[field, other[field] as Json] as const]))
  const body = Object.fromEntries(values)
  const unfit = (proposal: Proposal): Proposal => ({
    ...proposal,
    faults() {
      const found = proposal.faults()
      if (found.length === 0) meet(fate, 'unfit')
      return found
    },
  })
  let permit: { readonly evidence: Evidence }
  if (decision.kind === 'create') {
    permit = orRefuse(
      settled(decision.permit(unfit(proposeNew(DOCS, body, { id: 'new', filled: decision.filled, now: 'now' })))),
    )
  } else {
    const before = represent(decision.object)
    const { writable, readable, filled } = decision
    const proposal =
      action === 'replace'
        ? proposeReplacement(DOCS, body, { before, writable, readable, filled })
        : proposeUpdate(DOCS, body, before)
    if (proposal.read && fate === 'conflict') {
      orRefuse(decision.checkRead(proposal.read, proposal.named))
      orRefuse(decision.checkNamed(proposal.named))
      meet(fate, 'conflict')
    }
    permit = orRefuse(settled(decision.permit(unfit(proposal))))
  }
  meet(fate, 'unmet')
  return permit.evidence
}

function meet(fate: Fate, here: Fate): void {
  const codes = {
    none: 'invalid-json',
    unreadable: 'invalid-json',
    conflict: 'patch-conflict',
    unfit: 'invalid-body',
  } as const
  if (fate === here) throw new Problem(here === 'unmet' ? 'precondition-failed' : codes[here], 'Not by the policy.')
}

export function tellOf(record: DecisionRecord, again: Again): string {
  if (again.kind === 'undecidable' || again.kind === 'unconcerned') return again.kind
  return compare(record, again)?.change ?? 'the same'
}

/** What a client sees of it, as far as the policy has a say. */
export function answerOf({ record: { status, problem, fieldsRefused, facts }, rows }: Answered): unknown {
  if (problem !== undefined) return { status, problem, fieldsRefused: fieldsRefused?.toSorted() }
  return { status, where: facts?.where, shown: facts && shownFields(facts, facts), rows }
}
