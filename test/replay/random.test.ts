/** A record of a request under one policy, replayed under another one, gives what that one would have answered. */
import { createHash } from 'node:crypto'
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { Problem } from '../../src/base/problems/problem.ts'
import { stageOf } from '../../src/base/problems/stages.ts'
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
import type { ActivePolicy } from '../../src/policy/active-policy.ts'
import type { Revision } from '../../src/policy/policy-files.ts'
import { represent } from '../../src/resources/object.ts'
import type { Endpoint, Json, Method, Resources, Route } from '../../src/resources/resource.ts'
import type { RouteMatch } from '../../src/resources/routing/match-route.ts'
import { type RequestFacts, recordOf } from '../../src/server/answers/record.ts'
import { problemOf } from '../../src/server/answers/to-problem.ts'
import { readListQuery } from '../../src/server/input/read-list-query.ts'
import { decideRequest, type Gate } from '../../src/server/stages/authorize.ts'
import type { Writable } from '../../src/server/stages/stage.ts'
import { rowWriter } from '../../src/store/lists/json-row.ts'
import { CHANGES, compare } from '../../src/tools/replay/compare.ts'
import { type Again, decideAgain } from '../../src/tools/replay/decide-again.ts'
import { shownFields } from '../../src/tools/replay/shown.ts'
import { listedOf } from '../listed.ts'
import { randomCaller, randomObject } from '../policy/arbitrary.ts'
import { generousPolicy, type WrittenPolicy } from '../policy/arbitrary-policy.ts'
import { DOCS, RESOURCES } from '../policy/fixture.ts'
import { settled, snapshotOf, storedOf } from '../policy/product.ts'
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

/** What a request meets that no policy decides. A patch that doesn't apply is refused before its outcome is looked at. */
type Fate = 'none' | 'unreadable' | 'conflict' | 'unfit' | 'unmet'

interface Request {
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

const randomRequest: fc.Arbitrary<Request> = fc.record({
  caller: randomCaller,
  action: fc.constantFrom(...(Object.keys(ENDPOINTS) as ActionName[]), 'update' as const, 'list' as const),
  stored: randomObject,
  other: randomObject,
  named: fc.subarray(FIELDS, { maxLength: 4 }),
  fate: fc.constantFrom<Fate>('none', 'none', 'none', 'unreadable', 'conflict', 'unfit', 'unmet'),
  query: randomQuery,
})

/** Two policies have one revision exactly when they are the same, as far as the test is concerned. */
function activeOf({ files }: Pick<WrittenPolicy, 'files'>): ActivePolicy {
  const revision = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16)
  return { revision: revision as Revision, snapshot: snapshotOf(files), blocked: new Map() }
}

interface Answered {
  readonly record: DecisionRecord
  /** What a list shows of the two objects. */
  readonly rows: readonly string[]
}

/** What the server does with a request, as far as the policy is concerned, and the record that it makes. */
async function live(policy: ActivePolicy, request: Request): Promise<Answered> {
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

/** As the handlers of src/routes do. */
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
    orRefuse(
      (proposal.read && decision.checkRead(proposal.read, proposal.named)) ?? decision.checkNamed(proposal.named),
    )
    if (action === 'update') meet(fate, 'conflict')
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

type Replay = (policy: ActivePolicy, record: DecisionRecord) => Promise<Again>

const product: Replay = (policy, record) => decideAgain({ resources: WITH_ROUTES, policyAt: () => policy }, record)

interface Drawn {
  readonly requests: fc.Arbitrary<Request>
  readonly before: fc.Arbitrary<Pick<WrittenPolicy, 'files'>>
}

/** `seen` counts what replays come to. */
function replaysAs(
  replay: Replay,
  seen: Map<string, number>,
  { requests = randomRequest, before = generousPolicy }: Partial<Drawn> = {},
) {
  return fc.asyncProperty(before, generousPolicy, requests, async (then, now, request) => {
    const candidate = activeOf(now)
    const was = await live(activeOf(then), request)
    const again = await replay(candidate, was.record)
    const is = await live(candidate, request)
    const told = tellOf(was.record, again)
    seen.set(told, (seen.get(told) ?? 0) + 1)
    if (again.kind === 'undecidable') expect(again.why).to.match(/^the record doesn't hold /)
    if (told === 'the same') expect(answerOf(is)).to.deep.equal(answerOf(was))
    if (again.kind === 'allowed') {
      expect(is.record.problem && stageOf(is.record.problem)).to.not.equal('policy')
      if (again.decision.kind === 'list') expect(again.decision.where).to.deep.equal(is.record.facts?.where)
    }
    if (again.kind === 'refused') {
      expect([again.problem, again.fieldsRefused.toSorted()]).to.deep.equal([
        is.record.problem,
        (is.record.fieldsRefused ?? []).toSorted(),
      ])
    }
  })
}

function tellOf(record: DecisionRecord, again: Again): string {
  if (again.kind === 'undecidable' || again.kind === 'unconcerned') return again.kind
  return compare(record, again)?.change ?? 'the same'
}

/** What a client sees of it, as far as the policy has a say. */
function answerOf({ record: { status, problem, fieldsRefused, facts }, rows }: Answered): unknown {
  if (problem !== undefined) return { status, problem, fieldsRefused: fieldsRefused?.toSorted() }
  return { status, where: facts?.where, shown: facts && shownFields(facts, facts), rows }
}

describe('a random request, replayed under another policy', () => {
  it('is answered as that policy would have answered it', async () => {
    const seen = new Map<string, number>()
    await fc.assert(replaysAs(product, seen), { numRuns: runs(1500), interruptAfterTimeLimit: 20_000 })
    for (const told of ['the same', ...CHANGES.filter((change) => change !== 'other-objects')]) {
      expect(seen.get(told), told).to.be.greaterThan(0)
    }
    const undecidable = seen.get('undecidable') ?? 0
    expect(undecidable, 'of all').to.be.lessThan([...seen.values()].reduce((sum, count) => sum + count, 0) / 3)
  })

  it('knows a field that came to be null as one that changed', async () => {
    const filesWith = (rule: string) =>
      activeOf({ files: filesOf({ 'policy.csv': rule, 'views.yaml': 'docs: { opened: [open] }' }) })
    const candidate = filesWith('p,everyone,docs,*,any,*,allow\np,everyone,docs,replace,any,opened,deny\n')
    const request: Request = {
      caller: { id: 'u1', roles: [], claims: {} },
      action: 'replace',
      stored: { id: 'o1' },
      other: { open: null },
      named: ['open'],
      fate: 'none',
      query: new Map(),
    }
    const { record } = await live(filesWith('p,everyone,docs,*,any,*,allow\n'), request)
    const again = await product(candidate, record)
    expect(again).to.deep.include({ kind: 'refused', problem: 'field-forbidden', fieldsRefused: ['open'] })
  })

  const tampered = (tamper: (record: DecisionRecord) => DecisionRecord): Replay => {
    return (policy, record) => product(policy, tamper(record))
  }
  const about = (...actions: readonly ActionName[]) =>
    fc
      .tuple(randomRequest, fc.constantFrom(...actions))
      .map(([request, action]): Request => ({ ...request, action, fate: 'none' }))
  const wrong: Readonly<Record<string, readonly [Replay, fc.Arbitrary<Request>]>> = {
    'forgets which fields changed': [
      tampered(({ facts, ...record }) => ({ ...record, facts: { ...facts, changed: [] } })),
      about('update'),
    ],
    'forgets what the body named': [
      tampered(({ facts, ...record }) => ({ ...record, facts: { ...facts, named: [] } })),
      about('create', 'update'),
    ],
    'takes the stored object for the proposed one': [
      tampered(({ facts, ...record }) => {
        return { ...record, facts: { ...facts, proposed: facts?.object } as DecisionRecord['facts'] }
      }),
      about('update'),
    ],
    'forgets the roles': [tampered((record) => ({ ...record, roles: [] })), randomRequest],
    'forgets what a query asked for': [
      tampered(({ facts, ...record }) => ({ ...record, facts: { ...facts, queried: [] } })),
      about('list'),
    ],
  }

  const open = { files: filesOf({ 'policy.csv': 'p,everyone,docs,*,any,*,allow\n' }) }
  for (const [fault, [replay, requests]] of Object.entries(wrong)) {
    it(`is compared so that a replay is found out that ${fault}`, async () => {
      const property = replaysAs(replay, new Map(), { requests, before: fc.constant(open) })
      const outcome = await fc.check(property, { numRuns: 20_000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    }).timeout(120_000)
  }
})

describe('a request that was refused after the policy had let it pass', () => {
  const EVERYTHING = 'p,everyone,docs,*,any,*,allow\n'
  const views = 'docs: { some: [id, team, status, open], secrets: [secret] }'
  const ownership = 'docs: { relations: { draft: { field: status, in: [draft] }, owner: ownerId } }'
  const under = (rules: string) =>
    activeOf({ files: filesOf({ 'policy.csv': rules, 'views.yaml': views, 'ownership.yaml': ownership }) })
  const request: Request = {
    caller: { id: 'u1', roles: [], claims: {} },
    action: 'update',
    stored: { id: 'o1', ownerId: 'u1', status: 'draft', secret: 's' },
    other: { secret: 't', team: 'red' },
    named: ['secret'],
    fate: 'none',
    query: new Map(),
  }
  const replayed = async (then: string, now: string, changes: Partial<Request>) => {
    const { record } = await live(under(then), { ...request, ...changes })
    const again = await product(under(now), record)
    const difference = again.kind === 'undecidable' || again.kind === 'unconcerned' ? again : compare(record, again)
    return { problem: record.problem, difference }
  }
  const hidden = `${EVERYTHING}p,everyone,docs,read|update|replace|create,any,secrets,deny\n`

  for (const [fate, problem, status] of [
    ['unmet', 'precondition-failed', 412],
    ['unfit', 'invalid-body', 400],
    ['conflict', 'patch-conflict', 409],
  ] as const) {
    it(`with ${status} ${problem} is refused otherwise where its fields are refused`, async () => {
      const { problem: then, difference } = await replayed(EVERYTHING, hidden, { fate })
      expect(then).to.equal(problem)
      expect(difference).to.deep.include({
        change: 'refused-otherwise',
        was: `${status} ${problem}`,
        becomes: '403 field-forbidden',
        fields: { was: [], becomes: ['secret'] },
      })
      expect((await replayed(EVERYTHING, hidden, { fate, named: ['team'] })).difference).to.equal(undefined)
    })
  }

  it('because its body could not be read is the same, whatever may be written', async () => {
    expect(await replayed(EVERYTHING, hidden, { fate: 'unreadable' })).to.deep.equal({
      problem: 'invalid-json',
      difference: undefined,
    })
  })

  const some = 'p,everyone,docs,list,any,some,allow\n'

  it('because of a filter that the candidate allows is allowed now, unless it is at fault in itself', async () => {
    const list = { action: 'list', query: new Map([['ownerId', 'u1']]) } as const
    const { problem, difference } = await replayed(some, EVERYTHING, list)
    expect([problem, difference]).to.deep.equal([
      'invalid-query',
      { change: 'allowed-now', was: '400 invalid-query', becomes: 'allowed', lines: [1] },
    ])
    const faulty = { ...list, query: new Map([...list.query, ['sort', 'nothing']]) }
    expect(await replayed(some, EVERYTHING, faulty)).to.deep.equal({ problem: 'invalid-query', difference: undefined })
  })

  it('because of a field to show that the candidate shows is allowed now, and the other way round', async () => {
    const list = { action: 'list', query: new Map([['fields', 'id,secret']]) } as const
    expect((await replayed(some, EVERYTHING, list)).difference).to.deep.include({ change: 'allowed-now' })
    expect((await replayed(EVERYTHING, some, list)).difference).to.deep.include({
      change: 'refused-now',
      becomes: '400 invalid-query',
      fields: { was: [], becomes: ['secret'] },
    })
    const both = { action: 'list', query: new Map([['fields', 'id,team']]) } as const
    expect((await replayed(EVERYTHING, some, both)).difference, 'both show what is asked for').to.equal(undefined)
  })

  it('is undecidable where only the rows of a list tell', async () => {
    const drafts = `${some}p,everyone,docs,list,draft,*,allow\n`
    const owned = `${some}p,everyone,docs,list,owner,*,allow\n`
    const why = "the record doesn't hold which fields each row showed"
    const list = { action: 'list' } as const
    expect((await replayed(drafts, owned, list)).difference).to.deep.equal({ kind: 'undecidable', why })
    expect((await replayed(drafts, drafts, list)).difference, 'the same policy').to.equal(undefined)
    const narrow = { ...list, query: new Map([['fields', 'id,team']]) }
    expect((await replayed(drafts, owned, narrow)).difference, 'every row shows these').to.equal(undefined)
  })

  it('is undecidable where PUT would remove other fields', async () => {
    const narrow = 'p,everyone,docs,read,any,*,allow\np,everyone,docs,replace,any,some,allow\n'
    const put = { action: 'replace', named: ['team'] } as const
    expect((await replayed(EVERYTHING, narrow, put)).difference).to.deep.equal({
      kind: 'undecidable',
      why: "the record doesn't hold the fields that PUT would remove now, or no longer",
    })
    expect((await replayed(narrow, narrow, put)).difference).to.equal(undefined)
  })
})
