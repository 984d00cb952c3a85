/** `/projects/{projectId}/tasks`: the collection of the objects that refer to one parent. */
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { decideAgain } from '../../src/analysis/replay/decide-again.ts'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import { loadPolicy } from '../../src/tools/load-policy.ts'
import { openCandidate } from '../../src/tools/replay/replay.ts'
import { NeededParts } from '../../src/tools/usage/needed-parts.ts'
import { type PolicyPart, policyParts } from '../../src/tools/usage/parts.ts'
import { sallyport } from '../command.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { withRules } from '../policy-text.ts'
import { runs } from '../runs.ts'
import type { Answer, TestServer } from '../server.ts'
import { REFERRING } from './referring-world.ts'

const PEOPLE = ['alice', 'bob'] as const
type Who = (typeof PEOPLE)[number] | 'sue' | 'ada'

const RULES = [
  // Sees which task belongs where on own tasks alone.
  'p, support, projects, read, any, *, allow',
  'p, support, tasks, list, any, who, allow',
  'p, support, tasks, list, owner, *, allow',
  'p, support, tasks, create, any, who, allow',
]

/** Paths that lead to the collection, and one that shows a part of its objects. */
const BESIDE = [
  { path: '/old/{projectId}/tasks', methods: ['GET', 'POST'], moved: '/projects/{projectId}/tasks' },
  { path: '/late/{projectId}/tasks', methods: ['GET'], successor: '/projects/{projectId}/tasks' },
  { path: '/narrow/{projectId}/tasks', methods: ['GET'], view: 'who' },
]

const FILES = {
  ...REFERRING,
  'policies/policy.csv': withRules(REFERRING['policies/policy.csv'], RULES.join('\n')),
  'policies/views.yaml': REFERRING['policies/views.yaml'].replace('who: [ownerId]', 'who: [id, ownerId]'),
  // Filtered by the plain list in the comparison below.
  'schemas/tasks.json': REFERRING['schemas/tasks.json']
    .replace('"projectId":{"type":"string"', '"projectId":{"x-index":true,"type":"string"')
    .replace('"routes":[', `"routes":[${BESIDE.map((route) => JSON.stringify(route)).join()},`),
}

for (const [engine, startOn] of ENGINES) {
  describe(`a collection under its parent, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    let tokens: OnEngine['tokens']
    let worlds = 0

    before(async () => {
      on = await startOn({ files: FILES })
      ;({ server, tokens } = on)
    })
    after(() => on.stop())

    const ask = (who: Who | undefined, method: string, path: string, more: object = {}) =>
      server.ask(method, path, { token: who && tokens[who], ...more })

    async function place(projects: readonly string[], tasks: readonly (readonly [owner: string, project: number])[]) {
      worlds += 1
      const idOf = (n: number) => `w${worlds}-${n}`
      await server.app.seeding.insert(
        'projects',
        projects.map((ownerId, n) => ({ id: idOf(n), document: { ownerId } })),
      )
      await server.app.seeding.insert(
        'tasks',
        tasks.map(([ownerId, project], n) => ({ id: idOf(n), document: { ownerId, projectId: idOf(project) } })),
      )
      return idOf
    }

    /** All that an answer tells but for the request's own id. */
    const told = ({ status, headers, body }: Answer) => [
      status,
      [...headers].filter(([name]) => name !== 'date'),
      { ...body, instance: undefined },
    ]

    it('holds what the plain list with the filter holds, page by page, of any parent that the caller may read', async () => {
      const counts = { rows: 0, pages: 0, unread: 0 }
      async function pages(who: Who, path: string): Promise<readonly unknown[]> {
        const found: unknown[] = []
        for (let next: string | undefined = path; next !== undefined; ) {
          const { status, body, headers } = await ask(who, 'GET', next)
          expect(status, next).to.equal(200)
          found.push(body.items, body.total)
          counts.rows += body.items.length
          counts.pages += 1
          next = /<(.*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
        }
        return found
      }
      const owner = fc.constantFrom(...PEOPLE, 'sue')
      const world = fc.record({
        projects: fc.array(owner, { minLength: 3, maxLength: 3 }),
        tasks: fc.array(fc.tuple(owner, fc.nat(3)), { maxLength: 9 }),
        query: fc.constantFrom('limit=2', 'limit=3&sort=-id', 'limit=2&count=exact', 'limit=9&can=true'),
      })
      const property = fc.asyncProperty(world, async ({ projects, tasks, query }) => {
        const idOf = await place(projects, tasks)
        for (const who of ['alice', 'ada'] as const) {
          for (let n = 0; n < 4; n += 1) {
            const mayRead = (await ask(who, 'GET', `/projects/${idOf(n)}`)).status === 200
            const path = `/projects/${idOf(n)}/tasks`
            if (mayRead) {
              expect(await pages(who, `${path}?${query}`)).to.deep.equal(
                await pages(who, `/tasks?projectId=${idOf(n)}&${query}`),
              )
            } else {
              counts.unread += 1
              expect((await ask(who, 'GET', path)).status).to.equal(404)
            }
          }
        }
      })
      await fc.assert(property, { numRuns: runs(60, 6), endOnFailure: true })
      expect(Math.min(counts.rows, counts.pages, counts.unread)).to.be.greaterThan(0)
    })

    it('of a parent that the caller can not read is like that of a missing one: list, HEAD and create', async () => {
      const idOf = await place(['bob'], [['alice', 0]])
      for (const [method, more] of [
        ['GET', {}],
        ['HEAD', {}],
        ['POST', { body: { ownerId: 'alice' } }],
        ['POST', { body: { ownerId: 'alice', projectId: 'other' } }],
        ['POST', { body: { ownerId: 'alice' }, headers: { 'idempotency-key': `key-${worlds}` } }],
      ] as const) {
        const hidden = await ask('alice', method, `/projects/${idOf(0)}/tasks`, more)
        for (const missing of ['nowhere', 'a%00b', '%20', 'x'.repeat(300)]) {
          expect(told(await ask('alice', method, `/projects/${missing}/tasks`, more))).to.deep.equal(told(hidden))
        }
        expect(hidden.status).to.equal(404)
        if (method !== 'HEAD') expect(hidden.body.code).to.equal('object-not-found')
      }
      // Negative control: whoever may read it gets another answer.
      expect((await ask('bob', 'GET', `/projects/${idOf(0)}/tasks`)).status).to.equal(200)
      const refused = { status: 404, method: 'GET', route: '/projects/{projectId}/tasks', subject: 'alice' }
      expect(await server.lastDecision(refused)).to.deep.include({
        problem: 'object-not-found',
        outcome: 'refused',
        resource: 'tasks',
        action: 'list',
        parent: { resource: 'projects', objectId: `${'x'.repeat(128)}…` },
      })
    })

    it('answers 401, 403 and 405 the same, whatever parent the path names', async () => {
      const idOf = await place(['bob'], [])
      const stranger = await server.token('stranger', 'nobody')
      const answers = await Promise.all(
        [idOf(0), 'nowhere'].map(async (id) => [
          told(await ask(undefined, 'GET', `/projects/${id}/tasks`)),
          told(await ask(undefined, 'GET', `/projects/${id}/tasks`, { token: 'broken' })),
          told(await ask(undefined, 'GET', `/projects/${id}/tasks`, { token: stranger })),
          told(await ask('alice', 'DELETE', `/projects/${id}/tasks`)),
          told(await ask('alice', 'OPTIONS', `/projects/${id}/tasks`)),
          told(await ask('alice', 'GET', `/projects/${id}/tasks/`)),
        ]),
      )
      expect(answers[0]).to.deep.equal(answers[1])
      expect(answers[0]?.map(([status]) => status)).to.deep.equal([401, 401, 403, 405, 204, 404])
      const { headers } = await ask('alice', 'PUT', `/projects/${idOf(0)}/tasks`, { body: {} })
      expect(headers.get('allow')).to.equal('GET, HEAD, POST, OPTIONS')
    })

    it('creates with the field filled: by the path alone, or with the same value in the body, and with no other', async () => {
      const idOf = await place(['alice', 'alice'], [])
      const path = `/projects/${idOf(0)}/tasks`
      for (const body of [{ ownerId: 'alice' }, { ownerId: 'alice', projectId: idOf(0) }]) {
        const made = await ask('alice', 'POST', path, { body })
        expect([made.status, made.body.projectId]).to.deep.equal([201, idOf(0)])
        expect(made.headers.get('location')).to.equal(`/tasks/${made.body.id}`)
        expect(await server.lastDecision({ status: 201, objectId: made.body.id })).to.deep.include({
          route: '/projects/{projectId}/tasks',
          parent: { resource: 'projects', objectId: idOf(0) },
        })
      }
      for (const projectId of [idOf(1), 'nowhere', null, 7]) {
        const { status, body } = await ask('alice', 'POST', path, { body: { ownerId: 'alice', projectId } })
        expect([status, body.code]).to.deep.equal([400, 'invalid-body'])
        expect(body.errors).to.deep.equal([
          { pointer: '/projectId', detail: 'is not the one that the path names', code: 'parent' },
        ])
      }
      expect((await ask('alice', 'GET', `${path}?count=exact`)).body.total).to.equal(2)
    })

    it('needs the right to write the field, as a create that names it does', async () => {
      const idOf = await place(['sue'], [])
      // Of another owner, so that the rule about own tasks doesn't count.
      const body = { ownerId: 'alice' }
      const plain = await ask('sue', 'POST', '/tasks', { body: { ...body, projectId: idOf(0) } })
      const nested = await ask('sue', 'POST', `/projects/${idOf(0)}/tasks`, { body })
      expect(told(nested)).to.deep.equal(told(plain))
      expect([nested.status, nested.body.errors[0].pointer]).to.deep.equal([403, '/projectId'])
      expect((await ask('sue', 'POST', '/tasks', { body })).status).to.equal(201)
    })

    it('leaves out the objects on which the caller does not see the field', async () => {
      const idOf = await place(
        ['alice'],
        [
          ['sue', 0],
          ['alice', 0],
        ],
      )
      const { body } = await ask('sue', 'GET', `/projects/${idOf(0)}/tasks?count=exact`)
      expect([body.items.map(({ id }: { id: string }) => id), body.total]).to.deep.equal([[idOf(0)], 1])
      // Negative control: the plain list has both.
      const plain = await ask('sue', 'GET', `/tasks?id[in]=${idOf(0)},${idOf(1)}`)
      expect(plain.body.items).to.have.length(2)
      expect((await ask('ada', 'GET', `/projects/${idOf(0)}/tasks`)).body.items).to.have.length(2)
    })

    it('repeats a POST by its key under one parent, and takes it for another payload under another', async () => {
      const idOf = await place(['alice', 'alice'], [])
      const headers = { 'idempotency-key': `repeat-${worlds}` }
      const post = (n: number) =>
        ask('alice', 'POST', `/projects/${idOf(n)}/tasks`, { headers, body: { ownerId: 'alice' } })
      const [first, again, other] = [await post(0), await post(0), await post(1)]
      expect([first.status, again.status, again.body.id]).to.deep.equal([201, 201, first.body.id])
      expect(again.headers.get('idempotency-replayed')).to.equal('true')
      expect([other.status, other.body.code]).to.deep.equal([422, 'idempotency-key-reused'])
    })

    it('gives no cursor of one parent to another', async () => {
      const idOf = await place(
        ['alice', 'alice'],
        [
          ['alice', 0],
          ['alice', 0],
          ['alice', 1],
        ],
      )
      const first = await ask('alice', 'GET', `/projects/${idOf(0)}/tasks?limit=1&expand=projectId`)
      expect(first.headers.get('link')).to.contain(`</projects/${idOf(0)}/tasks?limit=1&expand=projectId&cursor=`)
      expect(first.body.items[0].expanded.projectId.id).to.equal(idOf(0))
      const cursor = encodeURIComponent(first.body.next)
      const other = await ask('alice', 'GET', `/projects/${idOf(1)}/tasks?limit=1&cursor=${cursor}`)
      expect([other.status, other.body.code]).to.deep.equal([400, 'invalid-query'])
    })

    it('moves, is replaced and shows a view as other collections do, and keeps the id of the parent as it was sent', async () => {
      const idOf = await place(['alice'], [['alice', 0]])
      const moved = await ask('alice', 'GET', '/old/a%20b/tasks?limit=1')
      expect([moved.status, moved.headers.get('location')]).to.deep.equal([301, '/projects/a%20b/tasks?limit=1'])
      const late = await ask('alice', 'GET', '/late/a%2Fb/tasks')
      expect([late.status, late.headers.get('link')]).to.deep.equal([
        404,
        '</projects/a%2Fb/tasks>; rel="successor-version"',
      ])
      const narrow = await ask('alice', 'GET', `/narrow/${idOf(0)}/tasks`)
      expect(narrow.body.items).to.deep.equal([{ id: idOf(0), ownerId: 'alice' }])
    })

    it('is two questions for `access who`, which names no one who may not read the parent', async () => {
      const who = (path: string) => sallyport(['access', 'who', 'GET', path], { env: on.env })
      const one = await who('/projects/7/tasks')
      expect([one.code, one.stdout]).to.deep.equal([2, ''])
      expect(one.stderr).to.contain(
        'ask who can read this object of `projects`, and who can `GET /projects/{projectId}/tasks`',
      )
      const any = await who('/projects/{projectId}/tasks')
      expect([any.code, any.stderr]).to.deep.equal([0, ''])
    })

    it('is decided again from its record as far as the record goes: whether the parent could be read is not in it', async () => {
      const idOf = await place(['alice', 'bob'], [])
      for (const n of [0, 1]) await ask('alice', 'GET', `/projects/${idOf(n)}/tasks`)
      const route = '/projects/{projectId}/tasks'
      const find = (status: number) => server.lastDecision({ status, route, subject: 'alice', method: 'GET' })
      const records = [await find(200), await find(404)] as unknown as readonly DecisionRecord[]
      expect(records.map(({ parent }) => parent?.objectId)).to.deep.equal([idOf(0), idOf(1)])
      const bench = await openCandidate(join(server.folder, 'policies'), server.app.resources)
      const kinds = async (all: readonly DecisionRecord[]) =>
        (await Promise.all(all.map((one) => decideAgain(bench, one)))).map(({ kind }) => kind)
      expect(await kinds(records)).to.deep.equal(['allowed', 'undecidable'])
      const ofAnother = records.map((one) => ({ ...one, revision: 'another' }))
      expect(await kinds(ofAnother)).to.deep.equal(['undecidable', 'undecidable'])
    })

    it('needs the rules about its list, and leaves undecided whether those about its parent were needed', async () => {
      const idOf = await place(['alice'], [['alice', 0]])
      await ask('alice', 'GET', `/projects/${idOf(0)}/tasks`)
      const found = { status: 200, route: '/projects/{projectId}/tasks', subject: 'alice', method: 'GET' }
      const record = (await server.lastDecision(found)) as unknown as DecisionRecord
      const loaded = await loadPolicy(join(server.folder, 'policies'), server.app.resources)
      const needs = await new NeededParts(
        loaded,
        server.app.resources,
        policyParts(loaded.policy, server.app.resources),
      ).of(record)
      const told = (parts: readonly PolicyPart[]) =>
        parts.flatMap((part) => (part.kind === 'action' ? [`${part.of.resource} ${part.name}`] : []))
      expect(needs.kind).to.equal('allowed')
      expect(told(needs.needed)).to.deep.equal(['tasks list'])
      expect(told(needs.unseen.map(([part]) => part)))
        .to.include('projects read')
        .and.not.include('tasks list')
    })
  })
}
