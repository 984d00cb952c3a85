/** What explain says of a request is what a running server answers, and what it records. */
import { expect } from 'chai'
import { POLICY_PATH } from '../../../src/resources/built-in/policy-questions.ts'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import type { Method, Resources, Route } from '../../../src/resources/resource.ts'
import { createRouteMatcher } from '../../../src/resources/routing/match-route.ts'
import { readTarget } from '../../../src/resources/routing/request-target.ts'
import { openSqliteReader } from '../../../src/store/sqlite/reader/reader.ts'
import { explain } from '../../../src/tools/explain/explain.ts'
import type { Explanation } from '../../../src/tools/explain/explanation.ts'
import { matchRequest, withKnownObject } from '../../../src/tools/explain/read-question.ts'
import { type ExplainableRecord, explainRecord, readRecord } from '../../../src/tools/explain/record.ts'
import { type LoadedPolicy, loadPolicy } from '../../../src/tools/load-policy.ts'
import { ruledBy } from '../../policy-text.ts'
import { shareOf, soak } from '../../runs.ts'
import type { Answer, TestServer } from '../../server.ts'
import { BODIES, DORA, PEOPLE, type Person, putObjects, startWorld } from './world.ts'

interface Request {
  readonly person: Person
  readonly method: string
  readonly path: string
  /** Undefined where no route takes the request. */
  readonly route: Route | undefined
  readonly objectId: string | undefined
}

describe('explain, beside a running server', () => {
  let server: TestServer
  let resources: Resources
  let reviewed: LoadedPolicy

  before(async () => {
    server = await startWorld()
    resources = await loadResources(`${server.folder}/schemas`)
    reviewed = await loadPolicy(`${server.folder}/policies`, resources)
  })
  after(() => server.stop())

  const met = new Set<number>()

  for (const [i, person] of PEOPLE.entries()) {
    it(`tells what ${person?.id ?? 'a caller without credentials'} is answered and by which rules, on every route`, async () => {
      const requests = shareOf(await everyRequest(person), i)
      expect(requests.length).to.be.greaterThan(soak(40, 15))
      for (const request of requests) await holdTo(request)
    })
  }

  it('tells that a caller who lacks an attribute is refused whether the object exists or not', async () => {
    const route = resources.routes.find(({ path }) => path === '/tasks/{id}')
    if (!route) throw new Error('tasks have no route')
    const requests = await requestsFor(DORA, route, 'PUT')
    for (const request of requests) {
      await holdTo(request)
      const { stage, answer } = await explainRequest(request, reviewed)
      expect([stage, answer?.status, answer?.code]).to.deep.equal(['role', 403, 'forbidden'])
    }
    expect(requests.length).to.be.greaterThan(2)
  })

  it('tells what is answered where no route takes the request', async () => {
    const person = PEOPLE[1]
    for (const [method, path] of [
      ['GET', '/nothing'],
      ['GET', '/api/orders/'],
      ['PUT', '/api/orders'],
      ['DELETE', '/profile'],
      ['PROPFIND', '/tasks'],
      ['GET', '/api/orders/%zz'],
      ['OPTIONS', '/api/orders'],
    ] as const) {
      await holdTo({ person, method, path, route: undefined, objectId: undefined })
    }
  })

  it('tells of a recorded list whether it may be filtered so, as the server decides it', async () => {
    const support = { token: await server.token('sue', 'support') }
    await server.ask('GET', '/api/users?email=a@example.com', support)
    const filtered = await lastRecord('GET')
    const [contact] = reviewed.policy.rules.filter(({ views }) => views.includes('contact'))
    if (!contact) throw new Error('the shipped policy shows support how to reach people')
    const narrower = { ...contact, actions: ['list'], views: ['public'] }
    const another = ruledBy(reviewed, [...reviewed.policy.rules, narrower])
    const [same, other] = await Promise.all(
      [reviewed, another].map((files) => explainRecord(filtered, { reviewed: files, resources, now: Date.now() })),
    )
    expect(same?.record).to.include({ sameOutcome: true, status: 200 })
    expect(other?.record?.verdict).to.equal('these files give another answer: 400 invalid-query instead of 200')
    expect(other?.answer?.code).to.equal('invalid-query')
    const told = same?.cases[0]?.fields?.queryable
    expect(told).to.deep.equal(['id', 'email'])
    expect((await server.ask('GET', `/api/users?sort=${told}`, support)).status).to.equal(200)
    expect((await server.ask('GET', '/api/users?sort=displayName', support)).status).to.equal(400)
    const unknown = await explainRecord(await lastRecord('GET'), { reviewed, resources, now: Date.now() })
    expect(unknown.record?.verdict).to.equal(
      "the policy did not decide this answer (invalid-query), so it can't be compared",
    )
  })

  it('tells of OPTIONS of a redirect what it tells of OPTIONS elsewhere: no relation counts', async () => {
    const rules = reviewed.policy.rules.map((rule) =>
      rule.actions.includes('options') ? { ...rule, before: [{ name: 'owner', negated: false }] } : rule,
    )
    const another = { ...reviewed, policy: { ...reviewed.policy, rules } }
    for (const path of ['/tasks/{id}', '/jobs/{id}', '/jobs']) {
      const route = resources.routes.find((one) => one.path === path)
      const request = { person: PEOPLE[1], method: 'OPTIONS', path, route, objectId: undefined }
      expect((await explainRequest(request, reviewed)).answer?.status, path).to.equal(204)
      expect((await explainRequest(request, another)).answer?.status, path).to.equal(403)
    }
  })

  it('tells that a gateway without credentials has not proved itself', async () => {
    const path = '/access/v1/forward/nginx'
    const route = resources.routes.find((one) => one.path === path)
    const request = { person: undefined, method: 'GET', path, route, objectId: undefined } as const
    const { answer } = await explainRequest(request, reviewed)
    expect(answer).to.include({ status: (await send(request)).status, code: 'gateway-refused' })
  })

  it('has met every kind of answer', () => {
    const statuses = [200, 201, 204, 301, 302, 307, 308, 400, 401, 403, 404, 405]
    expect([...met].toSorted((a, b) => a - b)).to.deep.equal(statuses)
  })

  it('a rule that the server does not know would be found', async () => {
    const rules = reviewed.policy.rules.filter(({ subject }) => subject !== 'admin')
    const another = { ...reviewed, policy: { ...reviewed.policy, rules } }
    const request = { person: PEOPLE[5], method: 'GET', path: '/api/users', objectId: undefined }
    const route = resources.routes.find(({ path }) => path === '/api/users')
    const explained = await explainRequest({ ...request, route }, another)
    expect(explained.answer?.status).not.to.equal((await send({ ...request, route })).status)
  })

  /** Every method of every route, on an object of each kind and on one that isn't there. */
  async function everyRequest(person: Person): Promise<readonly Request[]> {
    const requests: Request[] = []
    // A client of this test can't ask for `*`.
    // Nor whether a question about the policy can be answered: the matrices tell who may ask.
    for (const route of resources.routes.filter(({ path }) => path !== '*' && !path.startsWith(POLICY_PATH))) {
      // Nor does the command line know whether a gateway proves itself.
      const methods = [...route.endpoints.keys()].filter((method) => !route.gateway || method === 'OPTIONS')
      for (const method of methods) requests.push(...(await requestsFor(person, route, method)))
    }
    // Whether there is a session to end the command line can't know.
    return requests.filter(({ method, path }) => !(method === 'DELETE' && path === '/api/tokens/current'))
  }

  /** Each on new objects: what a request deletes or changes, the next one finds again. */
  async function requestsFor(person: Person, route: Route, method: Method): Promise<readonly Request[]> {
    if (!route.path.includes('{id}')) return [{ person, method, path: route.path, route, objectId: undefined }]
    const ids = (await putObjects(server, route.resource)).get(route.resource) ?? []
    return ids.map((id) => ({ person, method, path: route.path.replace('{id}', id), route, objectId: id }))
  }

  async function holdTo(request: Request): Promise<void> {
    const before = await explainRequest(request, reviewed)
    const answer = await send(request)
    met.add(answer.status)
    const record = await lastRecord(request.method)
    const afterwards = await explainRecord(record, { reviewed, resources, now: Date.now() })
    const about = `${request.person?.id} ${request.method} ${request.path}`
    expect(summary(before), about).to.deep.equal(recorded(record, answer))
    expect(summary(afterwards), `recorded: ${about}`).to.deep.equal(recorded(record, answer))
    expect(afterwards.record).to.include({ sameRevision: true, status: answer.status })
    if (request.route) expect(afterwards.record).to.include({ sameRules: true, sameOutcome: true })
    expect(answer.headers.get('allow') ?? undefined, about).to.equal(before.answer?.headers.Allow)
  }

  async function explainRequest(
    { person, method, path, route, objectId }: Request,
    files: LoadedPolicy,
  ): Promise<Explanation> {
    const match = createRouteMatcher(resources.routes)(method, readTarget(path))
    const matched = matchRequest({ method, path, match }, resources)
    const caller = person ? ({ kind: 'caller', subject: person.id, roles: person.roles } as const) : ANONYMOUS
    const opened = await openSqliteReader(`${server.folder}/data/sallyport.db`)
    try {
      const context = { request: matched, caller, reviewed: files, resources, reader: async () => opened }
      return await withKnownObject(toldOf(route, { method, person, objectId }), context, (known) => {
        return explain({
          reviewed: files,
          resources,
          caller,
          path,
          request: matched,
          known,
          assumed: {},
          now: Date.now(),
        })
      })
    } finally {
      await opened.close()
    }
  }

  async function send({ person, method, path, route }: Request): Promise<Answer> {
    const token = person && (await server.token(person.id, ...person.roles))
    const operation = route?.endpoints.get(method as Method)?.operation ?? ''
    const body = BODIES[route?.resource ?? '']?.[operation]?.()
    return server.ask(method, path, { token, body: route?.redirect || route?.command ? undefined : body })
  }

  /** The log as a file would hold it. */
  async function lastRecord(method: string): Promise<ExplainableRecord> {
    const record = await server.lastDecision({ method })
    return readRecord(
      (async function* () {
        yield JSON.stringify(record)
      })(),
      'the log',
    )
  }
})

const ANONYMOUS = { kind: 'anonymous' } as const

interface Asked {
  readonly method: string
  readonly person: Person
  readonly objectId: string | undefined
}

/** --object where one is stored; a new object relates as the bodies of world.ts make it. */
function toldOf(route: Route | undefined, { method, person, objectId }: Asked): { object?: string; relation?: string } {
  const operation = route?.endpoints.get(method as Method)?.operation
  if (!route || route.redirect || operation === 'options' || operation === 'list') return {}
  if (operation === 'create')
    return person && CREATED[route.resource] ? { relation: CREATED[route.resource] ?? '' } : {}
  const id = route.kind === 'caller' ? person?.id : objectId
  return id === undefined || route.resource.startsWith('system/') ? {} : { object: id }
}

const CREATED: Readonly<Record<string, string>> = {
  notes: 'owner',
  orders: 'owner+draft',
  accounts: 'none',
  users: 'none',
  tasks: 'owner',
}

interface Summary {
  readonly status: number | undefined
  readonly outcome: string
  readonly rules: readonly string[]
}

function summary({ answer, outcome, rules }: Explanation): Summary {
  return { status: answer?.status, outcome, rules: rules.map(({ place }) => place) }
}

function recorded({ problem, rules = [] }: ExplainableRecord, { status }: Answer): Summary {
  return { status, outcome: problem === undefined ? 'allow' : 'deny', rules }
}
