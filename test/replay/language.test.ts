/** A request under a policy of the second edition, recorded and replayed: under that policy, and under another one. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { compare } from '../../src/analysis/replay/compare.ts'
import { type Again, decideAgain } from '../../src/analysis/replay/decide-again.ts'
import { shownFields } from '../../src/analysis/replay/recorded.ts'
import { FileError } from '../../src/base/diagnostic.ts'
import { stageOf } from '../../src/base/problems/catalogue.ts'
import type { Decision } from '../../src/decide/decision.ts'
import type { Evidence, Facts } from '../../src/decide/evidence.ts'
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
import { LANGUAGE_RESOURCES, ORACLE_RESOURCES } from '../policy/language-fixture.ts'
import { factsOf, filesOfWorld, questionOf } from '../policy/language-product.ts'
import type { OracleRequest } from '../policy/oracle/answer.ts'
import type { OracleCondition, OracleRelation, Plain, World } from '../policy/world.ts'
import { drawing, runs } from '../runs.ts'

const METHODS: Readonly<Record<Operation, Method>> = {
  list: 'GET',
  read: 'GET',
  create: 'POST',
  replace: 'PUT',
  update: 'PATCH',
  delete: 'DELETE',
  options: 'OPTIONS',
}

type Replay = (policy: ActivePolicy, resources: Resources, record: DecisionRecord) => Promise<Again>

const product: Replay = (policy, resources, record) => decideAgain({ resources, policyAt: () => policy }, record)

/** The policy of a world; two policies of one test have two revisions. */
function activeOf({ policy, now }: Pick<World, 'policy' | 'now'>, revision: string): ActivePolicy {
  const parsed = parsePolicy(filesOfWorld({ policy } as World), LANGUAGE_RESOURCES)
  const snapshot = directPolicy(parsed, LANGUAGE_RESOURCES, now)
  return { revision: revision as Revision, snapshot, blocked: new Map() }
}

function routeOf({ route, endpoint }: Pick<RouteMatch, 'route' | 'endpoint'>): Route {
  const path = `/${route.resource}${route.kind === 'item' ? '/{id}' : ''}/${endpoint.action}`
  return { ...route, path, endpoints: new Map([[METHODS[endpoint.operation], endpoint]]) }
}

interface Served {
  readonly record: DecisionRecord
  readonly resources: Resources
}

/** What the server does with a request, as far as the policy is concerned, and the record that it makes. */
async function serve(policy: ActivePolicy, asked: Asked): Promise<Served> {
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
    exchange.outcome = { status: 200, headers: {}, body: undefined, ...(evidence ? { evidence } : {}) }
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

function toldOf(record: DecisionRecord, again: Again): string {
  if (again.kind === 'undecidable' || again.kind === 'unconcerned') return again.kind
  return compare(record, again)?.change ?? 'the same'
}

function answerOf({ record: { status, problem, fieldsRefused, facts } }: Served): unknown {
  if (problem !== undefined) return { status, problem, fieldsRefused: fieldsRefused?.toSorted() }
  return { status, where: facts?.where, shown: facts && shownFields(facts, facts) }
}

/** `seen` counts what replays come to. */
function replaysUnderItsOwn(replay: Replay, seen = new Map<string, number>()) {
  return fc.asyncProperty(randomAsked, async (asked) => {
    const { record, resources } = await serve(activeOf(asked.world, 'a'), asked)
    const again = await replay(activeOf(asked.world, 'a'), resources, record)
    for (const what of [record.problem ?? 'allowed', ...Object.keys(record.facts ?? {})]) count(seen, what)
    expect([toldOf(record, again), again.kind === 'undecidable' ? again.why : '']).to.deep.equal(['the same', ''])
  })
}

/** The other policy is that of another world, or the same with rules of the other world. */
const randomPair = fc.tuple(randomAsked, randomAsked, fc.boolean()).map(([asked, other, isOther]) => {
  const { policy } = asked.world
  const now = isOther ? other.world.policy : { ...policy, conditions: other.world.policy.conditions ?? new Map() }
  return { asked, policy: now }
})

function replaysAs(replay: Replay, seen = new Map<string, number>()) {
  return fc.asyncProperty(randomPair, async ({ asked, policy }) => {
    const candidate = candidateOf(policy, asked)
    if (!candidate) return
    const was = await serve(activeOf(asked.world, 'a'), asked)
    const is = await serve(candidate, asked)
    const again = await replay(candidate, was.resources, was.record)
    const told = toldOf(was.record, again)
    count(seen, told)
    if (again.kind === 'undecidable') expect(again.why).to.match(/^the record doesn't hold /)
    if (told === 'the same') expect(answerOf(is)).to.deep.equal(answerOf(was))
    if (again.kind === 'allowed') {
      expect(is.record.problem && stageOf(is.record.problem)).to.not.equal('policy')
      if (again.decision.kind === 'list')
        expect(JSON.parse(JSON.stringify(again.decision.where))).to.deep.equal(is.record.facts?.where)
    }
    if (again.kind === 'refused') {
      expect([again.problem, again.fieldsRefused.toSorted()]).to.deep.equal([
        is.record.problem,
        (is.record.fieldsRefused ?? []).toSorted(),
      ])
    }
  })
}

/** Undefined where the parser refuses the policy. */
function candidateOf(policy: World['policy'], { world }: Asked): ActivePolicy | undefined {
  try {
    const { now } = world
    return activeOf(now === undefined ? { policy } : { policy, now }, 'b')
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return undefined
  }
}

function count(seen: Map<string, number>, what: string): void {
  seen.set(what, (seen.get(what) ?? 0) + 1)
}

const tampered = (tamper: (facts: Facts) => Facts): Replay => {
  return (policy, resources, { facts, ...record }) =>
    product(policy, resources, { ...record, ...(facts ? { facts: tamper(facts) } : {}) })
}

const flipped = (held: Facts['related']) =>
  held && Object.fromEntries(Object.entries(held).map(([name, holds]) => [name, !holds]))

describe('a random request under a policy of the second edition', () => {
  it('has the same answer when it is replayed under that policy, and none is undecidable', async () => {
    const seen = new Map<string, number>()
    await drawing(
      () => fc.assert(replaysUnderItsOwn(product, seen), { numRuns: runs(800) }),
      () => {
        for (const what of ['allowed', 'forbidden', 'object-not-found', 'related', 'conditions']) {
          expect(seen.get(what), what).to.be.greaterThan(0)
        }
      },
    )
  })

  it('is answered as another policy would have answered it, or is undecidable', async () => {
    const seen = new Map<string, number>()
    await drawing(
      () => fc.assert(replaysAs(product, seen), { numRuns: runs(800) }),
      () => {
        for (const told of ['the same', 'refused-now', 'allowed-now', 'undecidable']) {
          expect(seen.get(told), told).to.be.greaterThan(0)
        }
      },
    )
  })

  const wrong: Readonly<Record<string, Replay>> = {
    'takes related objects for their opposite': tampered(({ related, ...facts }) => {
      return { ...facts, ...(related ? { related: flipped(related) ?? {} } : {}) }
    }),
    'takes conditions for their opposite': tampered(({ conditions, ...facts }) => {
      return { ...facts, ...(conditions ? { conditions: flipped(conditions) ?? {} } : {}) }
    }),
    'forgets how relations were defined': tampered(({ definitions, ...facts }) => facts),
  }
  for (const [fault, replay] of Object.entries(wrong)) {
    it(`is compared so that a replay is found out that ${fault}`, async () => {
      const outcome = await fc.check(replaysUnderItsOwn(replay), { numRuns: 20_000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

describe('a recorded answer', () => {
  const rule = { subject: 'everyone', resource: 'tasks', actions: ['read'], views: ['*'], effect: 'allow' } as const
  const some = { some: 'memberships', where: 'projectId', relation: 'self' }
  const ofMemberships = new Map<string, OracleRelation>([['self', { field: 'userId', equals: 'id' }]])
  const member = { through: 'projectId', to: 'projects', relation: 'member' }
  const policyOf = (
    name: string,
    {
      relations = { member },
      projects = { member: some },
      conditions = {},
    }: {
      relations?: Record<string, OracleRelation>
      projects?: Record<string, OracleRelation>
      conditions?: Record<string, OracleCondition>
    } = {},
  ): World['policy'] => ({
    roles: [],
    links: [],
    views: new Map(),
    rules: [{ ...rule, relations: name.split('+').filter((one) => one !== 'any') }],
    relations: new Map([
      ['tasks', new Map(Object.entries(relations))],
      ['projects', new Map(Object.entries(projects))],
      ['memberships', ofMemberships],
    ]),
    conditions: new Map(Object.entries(conditions)),
  })
  const [tasks] = ORACLE_RESOURCES
  const objects: NonNullable<World['objects']> = new Map<string, readonly Plain[]>([
    ['tasks', [{ id: 't', projectId: 'p' }]],
    ['projects', [{ id: 'p' }]],
    ['memberships', [{ id: 'm', projectId: 'p', userId: 'u1' }]],
  ])
  const now = Date.parse('2026-11-20T10:00:00Z')
  const caller = { id: 'u1', roles: [], claims: {}, credential: 'password', authTime: now - 60_000 }

  async function replayed(
    then: World['policy'],
    candidate: World['policy'],
    edit: (record: DecisionRecord) => DecisionRecord = (record) => record,
  ) {
    if (!tasks) throw new Error('there are no tasks')
    const world: World = { policy: then, resource: tasks, caller, objects, now, address: '2001:db8::1' }
    const { record, resources } = await serve(activeOf(world, 'a'), {
      world,
      request: { action: 'read', id: 't' },
      viewName: undefined,
    })
    const again = await product(activeOf({ policy: candidate, now }, 'b'), resources, edit(record))
    return again.kind === 'undecidable' ? again.why : toldOf(record, again)
  }

  it('about related objects counts where the relation is defined alike, whatever its name', async () => {
    const renamed = policyOf('staff', { relations: { staff: { ...member, relation: 'on' } }, projects: { on: some } })
    expect(await replayed(policyOf('member'), renamed)).to.equal('the same')
    expect(await replayed(policyOf('member'), policyOf('!member'))).to.equal('refused-now')
  })

  it('about related objects counts nowhere else: the request is undecidable, and the relation is named', async () => {
    const why = "the record doesn't hold whether the relation `member` held"
    const led = policyOf('member', { projects: { member: { field: 'leadId', equals: 'id' } } })
    expect(await replayed(policyOf('member'), led), 'another relation of the project').to.equal(why)
    expect(await replayed(policyOf('!member'), led), 'a request that was refused').to.equal(why)
    expect(await replayed(policyOf('any'), policyOf('member')), 'a relation that no rule named').to.equal(why)
  })

  it('about the request follows from its time, its network and its sign-in, as far as they are recorded', async () => {
    const under = (condition: OracleCondition, edit?: (record: DecisionRecord) => DecisionRecord) =>
      replayed(policyOf('any'), policyOf('asked', { conditions: { asked: condition } }), edit)
    const hours = { days: 'mon-fri', from: '08:00', to: '18:00', zone: 'Europe/Berlin' }
    expect(await under(hours)).to.equal('the same')
    expect(await under({ ...hours, to: '10:00' })).to.equal('refused-now')
    expect(await under({ network: ['2001:db8::/32'] })).to.equal('the same')
    expect(await under({ network: ['2001:db8::/96'] })).to.equal("the record doesn't hold the client's whole address")
    expect(await under({ credential: ['api-key'] })).to.equal('refused-now')
    expect(await under({ signedIn: { within: '5m' } })).to.equal('the same')
    expect(await under({ signedIn: { within: '5m' } }, ({ signedIn, ...record }) => record)).to.equal(
      "the record doesn't hold when and how the caller signed in",
    )
    const fine = policyOf('asked', { conditions: { asked: { network: ['2001:db8::/96'] } } })
    expect(await replayed(fine, fine), 'it was recorded').to.equal('the same')
  })
})
