/** A record of a request under one policy, replayed under another one, gives what that one would have answered. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import { NO_MASKS } from '../../src/decision-log/mask.ts'
import { lineOf } from '../../src/decision-log/record-line.ts'
import type { Caller } from '../../src/identity/caller.ts'
import type { Decision } from '../../src/policy/decision.ts'
import type { ActivePolicy } from '../../src/policy/live-policy.ts'
import type { Revision } from '../../src/policy/policy-files.ts'
import { type Again, decideAgain } from '../../src/replay/decide-again.ts'
import { authorize, type Gate } from '../../src/request/authorize.ts'
import type { RouteMatch } from '../../src/request/match-route.ts'
import { problemOf } from '../../src/request/problem-boundary.ts'
import { type Exchange, recordOf } from '../../src/request/record.ts'
import type { Endpoint, Method, Resources, Route } from '../../src/resources/resource.ts'
import { randomCaller, randomObject } from '../policy/arbitrary.ts'
import { generousPolicy, type WrittenPolicy } from '../policy/arbitrary-policy.ts'
import { DOCS, RESOURCES } from '../policy/fixture.ts'
import { snapshotOf, storedOf } from '../policy/product.ts'
import { filesOf } from '../policy/render.ts'
import type { OracleCaller, Plain } from '../policy/world.ts'
import { runs } from '../runs.ts'

const ENDPOINTS = {
  list: ['GET', '/docs'],
  create: ['POST', '/docs'],
  read: ['GET', '/docs/{id}'],
  replace: ['PUT', '/docs/{id}'],
  update: ['PATCH', '/docs/{id}'],
  delete: ['DELETE', '/docs/{id}'],
} as const satisfies Record<string, readonly [Method, string]>

type ActionName = keyof typeof ENDPOINTS

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
const WITH_ROUTES: Resources = { ...RESOURCES, routes: ROUTES }

interface Request {
  readonly caller: OracleCaller
  readonly action: ActionName
  readonly stored: Plain
  readonly other: Plain
  readonly named: readonly string[]
}

const randomRequest: fc.Arbitrary<Request> = fc.record({
  caller: randomCaller,
  action: fc.constantFrom(...(Object.keys(ENDPOINTS) as ActionName[]), 'update' as const),
  stored: randomObject,
  other: randomObject,
  named: fc.subarray([...DOCS.fields.keys()], { maxLength: 4 }),
})

function activeOf({ files }: Pick<WrittenPolicy, 'files'>): ActivePolicy {
  return { revision: '0000000000000000' as Revision, snapshot: snapshotOf(files), blocked: new Map() }
}

/** What the server does with a request, as far as the policy is concerned, and the record that it makes. */
async function live(policy: ActivePolicy, request: Request): Promise<DecisionRecord> {
  const { caller: asking, action, stored } = request
  const [method, path] = ENDPOINTS[action]
  const route = ROUTES.find((one) => one.path === path) as Route
  const endpoint = route.endpoints.get(method) as Endpoint
  const id = route.kind === 'item' ? String(stored.id) : undefined
  const match: RouteMatch = { kind: 'route', route, endpoint, id, target: { path, query: '' } }
  const caller: Caller | undefined =
    asking.id === undefined ? undefined : { id: asking.id, roles: asking.roles, claims: asking.claims }
  const gate: Gate = { resources: WITH_ROUTES, store: { get: async () => storedOf(stored) }, now: () => 0 }
  const exchange: Exchange = {
    requestId: 'r',
    started: 0,
    time: '2026-01-01T00:00:00.000Z',
    method,
    revision: policy.revision,
    masks: NO_MASKS,
    match,
    authentication: caller ? { kind: 'caller', caller } : { kind: 'anonymous' },
  }
  try {
    exchange.decision = await authorize(gate, policy, { match, caller })
    const evidence = write(exchange.decision, request)
    exchange.outcome = { status: 200, headers: {}, body: undefined, ...(evidence ? { evidence } : {}) }
  } catch (error) {
    exchange.problem = problemOf(error, caller)
  }
  return JSON.parse(lineOf(recordOf(exchange)))
}

function write(decision: Decision, { stored, other, named }: Request) {
  const values = named.flatMap((field) => (other[field] === undefined ? [] : [[field, other[field]] as const]))
  const body = Object.fromEntries(values)
  if (decision.kind === 'delete') return decision.permit().evidence
  if (decision.kind === 'create') {
    return decision.permit({ after: { id: 'new', ...body }, named: new Set(named), refuseUnfit: () => {} }).evidence
  }
  if (decision.kind !== 'update') return undefined
  decision.refuseHidden(named)
  const kept = Object.entries(stored).filter(([field]) => !named.includes(field))
  return decision.permit({
    after: { ...Object.fromEntries(kept), ...body },
    named: new Set(named),
    refuseUnfit: () => {},
  }).evidence
}

type Replay = (policy: ActivePolicy, record: DecisionRecord) => Promise<Again>

const product: Replay = (policy, record) => decideAgain({ resources: WITH_ROUTES, policyAt: () => policy }, record)

/** `seen` counts the kinds of answers. */
function replaysAs(replay: Replay, seen: Map<string, number>) {
  return fc.asyncProperty(generousPolicy, generousPolicy, randomRequest, async (then, now, request) => {
    const candidate = activeOf(now)
    const again = await replay(candidate, await live(activeOf(then), request))
    const answered = await live(candidate, request)
    seen.set(again.kind, (seen.get(again.kind) ?? 0) + 1)
    if (again.kind === 'undecidable') expect(again.why).to.match(/^the record doesn't hold /)
    if (again.kind === 'allowed') {
      expect(answered.problem).to.equal(undefined)
      const { evidence } = again.decision
      if (again.decision.kind === 'list') expect(evidence.facts.where).to.deep.equal(answered.facts?.where)
      if (again.decision.kind === 'read') expect(evidence.facts.shown).to.deep.equal(answered.facts?.shown)
    }
    if (again.kind === 'refused') {
      expect([again.problem, again.fieldsRefused.toSorted()]).to.deep.equal([
        answered.problem,
        (answered.fieldsRefused ?? []).toSorted(),
      ])
    }
  })
}

describe('a random request, replayed under another policy', () => {
  it('is answered as that policy would have answered it', async () => {
    const seen = new Map<string, number>()
    await fc.assert(replaysAs(product, seen), { numRuns: runs(1500), interruptAfterTimeLimit: 20_000 })
    for (const kind of ['allowed', 'refused', 'further']) expect(seen.get(kind), kind).to.be.greaterThan(20)
  })

  it('knows a field that came to be null as one that changed', async () => {
    const filesWith = (rule: string) =>
      activeOf({ files: filesOf({ 'policy.csv': rule, 'views.yaml': 'docs: { opened: [open] }' }) })
    const candidate = filesWith('p,everyone,docs,*,any,*,allow\np,everyone,docs,update,any,opened,deny\n')
    const request: Request = {
      caller: { id: 'u1', roles: [], claims: {} },
      action: 'update',
      stored: { id: 'o1' },
      other: { open: null },
      named: ['open'],
    }
    const again = await product(candidate, await live(filesWith('p,everyone,docs,*,any,*,allow\n'), request))
    expect(again).to.deep.include({ kind: 'refused', problem: 'field-forbidden', fieldsRefused: ['open'] })
  })

  const tampered = (tamper: (record: DecisionRecord) => DecisionRecord): Replay => {
    return (policy, record) => product(policy, tamper(record))
  }
  const wrong: Readonly<Record<string, Replay>> = {
    'forgets which fields changed': tampered(({ facts, ...record }) => ({
      ...record,
      facts: { ...facts, changed: [] },
    })),
    'forgets what the body named': tampered(({ facts, ...record }) => ({ ...record, facts: { ...facts, named: [] } })),
    'takes the stored object for the proposed one': tampered(({ facts, ...record }) => {
      return { ...record, facts: { ...facts, proposed: facts?.object } as DecisionRecord['facts'] }
    }),
    'forgets the roles': tampered((record) => ({ ...record, roles: [] })),
  }

  for (const [fault, replay] of Object.entries(wrong)) {
    it(`is compared so that a replay is found out that ${fault}`, async () => {
      const outcome = await fc.check(replaysAs(replay, new Map()), { numRuns: 20_000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
