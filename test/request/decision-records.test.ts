/** One decision record for every request, whatever its end: who asked what, and on which lines of which revision it rests. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, firstOf, tokensOf } from './callers.ts'

const ALWAYS = ['time', 'record', 'requestId', 'instance', 'revision', 'method', 'address']
const ENDS = ['authentication', 'outcome', 'status', 'microseconds']

describe('a decision record', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    server = await startTestServer({ demo: true, env: { INSTANCE: 'north-1' } })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  it('of an allowed read names subject, roles, object, relations and the rules that allowed it', async () => {
    const { id } = await firstOf(server, '/api/orders', callers.alice)
    const found = await recordOf('GET', `/api/orders/${id}`, callers.alice)
    expect(found).to.deep.include({
      record: 'decision',
      instance: 'north-1',
      method: 'GET',
      address: '127.0.0.1',
      route: '/api/orders/{id}',
      resource: 'orders',
      action: 'read',
      objectId: id,
      subject: 'alice',
      roles: ['member'],
      authentication: 'caller',
      outcome: 'allowed',
      status: 200,
      revision: server.app.policy.active.revision,
    })
    expect(found.relations).to.include('owner')
    expect(found.rules).to.deep.equal([ruleOf(/^p, member, orders, +list/)])
    expect(found.requestId).to.match(/^[0-9a-f-]{36}$/)
    expect(found.microseconds).to.be.a('number').greaterThan(0)
    expect(found).to.have.all.keys(
      ...[
        ...ALWAYS,
        ...ENDS,
        'route',
        'resource',
        'action',
        'objectId',
        'subject',
        'signedIn',
        'roles',
        'relations',
        'rules',
        'facts',
        'sealed',
        'sealedFacts',
      ],
    )
  })

  it('of a create names the new object', async () => {
    const { body } = await server.ask('POST', '/api/v1/notes', { token: callers.alice, body: { title: 't' } })
    const last = await server.lastDecision({ method: 'POST' })
    expect(last).to.deep.include({
      action: 'create',
      outcome: 'allowed',
      status: 201,
      objectId: body.id,
      instance: 'north-1',
    })
    expect(last).to.deep.include({ relations: ['owner'], rules: [ruleOf(/^p, member, notes,/)] })
  })

  it('of a write may stand behind that of a later read', async () => {
    const { outbox } = server.app
    const holder = randomUUID()
    while (!(await outbox.hold(holder))) await sleep(20)
    const held = setInterval(() => void outbox.hold(holder), 100)
    await server.ask('POST', '/api/v1/notes', { token: callers.alice, body: { title: 't' } })
    await server.ask('GET', '/profile', { token: callers.alice })
    clearInterval(held)
    await outbox.release(holder)
    expect((await server.decisions()).at(-1)).to.include({ method: 'POST', status: 201 })
    expect(await server.lastDecision({ method: 'GET' })).to.include({ route: '/profile', subject: 'alice' })
  })

  it("of the caller's own record names its id", async () => {
    expect(await recordOf('GET', '/profile', callers.bob)).to.include({ route: '/profile', objectId: 'bob' })
  })

  it('of a refused read says so, with the evidence', async () => {
    const found = await recordOf('GET', '/api/users/bob', callers.alice)
    expect(found).to.deep.include({
      outcome: 'refused',
      problem: 'forbidden',
      status: 403,
      subject: 'alice',
      relations: [],
    })
    expect(found).to.deep.include({ objectId: 'bob', action: 'read', rules: [] })
  })

  it('of refused fields names them', async () => {
    const body = { roles: ['admin'], department: 'x' }
    const found = await recordOf('PATCH', '/profile', callers.alice, body)
    expect(found).to.deep.include({ outcome: 'refused', problem: 'field-forbidden', status: 403 })
    expect(found.fieldsRefused).to.have.members(['roles', 'department'])
  })

  it('of a deny names the rule that denied', async () => {
    const found = await recordOf('POST', '/api/v1/notes', callers.audrey, { title: 't' })
    expect(found).to.include({ outcome: 'refused', status: 403 })
    expect(found.rules).to.deep.equal([ruleOf(/^p, auditor, \*,/)])
  })

  for (const [what, method, path, fields] of [
    ['404', 'GET', '/nowhere', { status: 404, problem: 'route-not-found', authentication: 'anonymous' }],
    ['405', 'DELETE', '/livez', { status: 405, problem: 'method-not-allowed', authentication: 'anonymous' }],
    ['400', 'GET', '/%zz', { status: 400, problem: 'invalid-path', authentication: 'anonymous' }],
    ['a query', 'GET', '/livez?x=1', { status: 400, problem: 'invalid-query', route: '/livez', action: 'read' }],
    ['401', 'GET', '/profile', { status: 401, problem: 'credentials-missing', route: '/profile', action: 'read' }],
    ['OPTIONS', 'OPTIONS', '/users/bob', { status: 204, outcome: 'allowed', action: 'options', objectId: 'bob' }],
    ['HEAD', 'HEAD', '/livez', { status: 200, outcome: 'allowed', action: 'read', resource: 'system/health' }],
  ] as const) {
    it(`of ${what} is one, and says it`, async () => {
      const found = await recordOf(method, path, undefined)
      expect(found).to.include({ method, ...fields })
      expect(found).not.to.have.property('subject')
    })
  }

  it('of a bad token names no subject', async () => {
    const found = await recordOf('GET', '/profile', `${callers.alice}x`)
    expect(found).to.include({ status: 401, problem: 'token-invalid', authentication: 'rejected' })
    expect(found).not.to.have.any.keys('subject', 'roles')
  })

  it('every answer has one: as many records as requests', async () => {
    const before = (await server.decisions()).length
    const paths = ['/livez', '/nowhere', '/profile', '/api/v1/notes', '/api/users/bob', '/%']
    await Promise.all(paths.flatMap((path) => [1, 2, 3].map(() => server.ask('GET', path, { token: callers.alice }))))
    const made = (await server.decisions()).slice(before)
    expect(made.map(({ record }) => record)).to.deep.equal(Array.from({ length: 18 }, () => 'decision'))
    expect(new Set(made.map(({ requestId }) => requestId)).size).to.equal(18)
  })

  /** The place of the line of policy.csv that fits. */
  function ruleOf(line: RegExp): string {
    const lines = readFileSync(join(server.folder, 'policies/policy.csv'), 'utf8').split('\n')
    return `policy.csv:${lines.findIndex((one) => line.test(one)) + 1}`
  }

  async function recordOf(method: string, path: string, token: string | undefined, body?: unknown) {
    const before = (await server.decisions()).length
    await server.ask(method, path, { token, body })
    const made = (await server.decisions()).slice(before)
    expect(made).to.have.length(1)
    return made[0] as Record<string, unknown>
  }
})
