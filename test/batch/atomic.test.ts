/** POST /batch with `"atomic": true`: all of its requests are done, or none is. */
import { expect } from 'chai'
import fc from 'fast-check'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { runs } from '../runs.ts'
import type { Answer, TestServer, TestServerOptions } from '../server.ts'
import {
  anyRequests,
  anyRequestsThatFit,
  BATCHING,
  comparable,
  type Part,
  type PartAnswer,
  partsOf,
  sendBatch,
  sendOneByOne,
} from './batch-world.ts'

const project = (ownerId: string, id = 'p'): Part => ({ id, method: 'POST', path: '/projects', body: { ownerId } })
const refused: Part = { id: 'x', method: 'POST', path: '/projects', body: { ownerId: 'somebody' } }

/** One of them is in the demo data. */
const TWO_AUDITORS = '- name: few\n  at-most: { role: auditor, people: 2 }\n'

const LEFT: readonly Part[] = ['projects', 'tasks'].map((name) => ({
  id: name,
  method: 'GET',
  path: `/${name}?limit=200`,
}))

/** As a server writes. */
const inThread = (options: TestServerOptions) =>
  (ENGINES[0] as (typeof ENGINES)[number])[1]({ ...options, writer: 'thread' })

/** A busy machine may need more than the two seconds of a transaction: then nothing was done, and it is sent again. */
async function inTime(send: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 4; ; tries -= 1) {
    const answer = await send()
    if (answer.status !== 503 || tries === 0) return answer
  }
}

for (const [engine, startOn] of [...ENGINES, ['SQLite with its thread', inThread] as const]) {
  describe(`an atomic batch, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    let alice: string
    let ada: string

    before(async () => {
      on = await startOn({ files: { ...BATCHING, 'policies/guarantees.yaml': TWO_AUDITORS }, demo: true })
      server = on.server
      alice = await server.token('alice', 'member')
      ada = await server.token('ada', 'admin')
    })
    after(() => on.stop())

    const send = (requests: readonly Part[], token = alice, headers: Record<string, string> = {}) =>
      inTime(() => sendBatch(server, token, requests, { atomic: true, headers }))
    const statuses = ({ body }: Answer) => body.responses.map(({ status }: PartAnswer) => status)
    const total = async () => (await server.ask('GET', '/projects?count=exact&limit=1', { token: ada })).body.total

    it('is done as a whole: its requests see what those before it have written', async () => {
      const answer = await send([
        project('alice'),
        { id: 't', method: 'POST', path: '/tasks', body: { ownerId: 'alice', projectId: { $ref: 'p.id' } } },
        { id: 'l', method: 'GET', path: '/tasks?sort=-id&limit=1&expand=projectId' },
        { id: 'u', method: 'PATCH', path: '/tasks/{t.id}', body: { seenWith: { $ref: 't.id' } } },
        { id: 'd', method: 'DELETE', path: '/projects/{p.id}' },
        { id: 'g', method: 'GET', path: '/tasks?sort=-id&limit=1' },
      ])
      expect([answer.status, statuses(answer)]).to.deep.equal([200, [201, 201, 200, 200, 204, 200]])
      const [made, task, list, , , after] = answer.body.responses
      expect(list.body.items[0].expanded.projectId.id).to.equal(made.body.id)
      expect(after.body.items.map(({ id }: { id: string }) => id)).not.to.include(task.body.id)
      const [kept] = (await send([project('alice')])).body.responses
      const read = await server.ask('GET', kept.headers.Location, { token: alice })
      expect([read.text, read.headers.get('etag')]).to.deep.equal([JSON.stringify(kept.body), kept.headers.ETag])
    })

    it('reads and counts under a parent what it has written there, and what it has undone is not counted', async () => {
      const under = (id: string, method: string, rest = '', body?: object): Part => {
        return { id, method, path: `/projects/{p.id}/tasks${rest}`, ...(body && { body }) }
      }
      const asked = [
        project('alice'),
        under('t', 'POST', '', { ownerId: 'alice' }),
        under('s', 'GET', '?aggregate=count'),
      ]
      const answer = await send([...asked, under('l', 'GET')])
      expect(statuses(answer)).to.deep.equal([201, 201, 200, 200])
      const [made, task, sum, list] = answer.body.responses.map(({ body }: PartAnswer) => body)
      expect([task.projectId, sum.groups, list.items]).to.deep.equal([made.id, [{ count: 1 }], [task]])
      const before = (await server.ask('GET', '/tasks?aggregate=count', { token: ada })).body
      expect(statuses(await send([...asked, refused]))).to.deep.equal([424, 424, 424, 403])
      expect((await server.ask('GET', '/tasks?aggregate=count', { token: ada })).body).to.deep.equal(before)
    })

    it('with one request that fails is not done at all, and has its status and code', async () => {
      const before = await total()
      const requests = [project('alice'), project('alice', 'q'), refused, project('alice', 'r')]
      const answer = await send(requests)
      expect([answer.status, answer.body.code]).to.deep.equal([403, 'forbidden'])
      expect(statuses(answer)).to.deep.equal([424, 424, 403, 424])
      expect(answer.body.responses.map(({ id }: PartAnswer) => id)).to.deep.equal(['p', 'q', 'x', 'r'])
      expect(await total()).to.equal(before)
      // The control: the same batch without `atomic` does the rest.
      const apart = await sendBatch(server, alice, requests)
      expect([apart.status, statuses(apart)]).to.deep.equal([200, [201, 201, 403, 201]])
      expect(await total()).to.equal(before + 3)
    })

    it('leaves a record of each request, which tells of no write that was undone', async () => {
      const records = async (answer: Answer) => {
        const ids = new Set(answer.body.responses.map(({ body }: PartAnswer) => body?.instance?.slice(9)))
        const whole = await server.lastDecision({ route: '/batch', status: answer.status })
        const parts = (await server.decisions()).filter(({ batch }) => batch === whole?.requestId)
        for (const { requestId, status } of parts) if (Number(status) >= 400) expect(ids).to.include(requestId)
        return parts.map(({ outcome, status, problem }) => [outcome, status, problem].join(' ').trim())
      }
      expect((await records(await send([project('alice'), refused, project('alice', 'q')]))).toSorted()).to.deep.equal([
        'refused 403 forbidden',
        'refused 424 failed-dependency',
        'refused 424 failed-dependency',
      ])
      const list: Part = { id: 'l', method: 'GET', path: '/projects?limit=1' }
      expect(await records(await send([project('alice'), list, project('alice', 'q')]))).to.deep.equal([
        'allowed 201',
        'allowed 201',
        'allowed 200',
      ])
    })

    it('does what the same requests do one after the other, or nothing, whatever they are', async () => {
      let round = 0
      const compare = async (shapes: Parameters<typeof partsOf>[0]) => {
        round += 1
        const [together, apart] = [`all-${round}`, `one-${round}`]
        const [one, two] = await Promise.all([together, apart].map((name) => server.token(name, 'member')))
        const batch = await send(partsOf(shapes, together), one)
        const alone = await sendOneByOne(server, two ?? '', partsOf(shapes, apart))
        const names = { [together]: 'owner', [apart]: 'owner' }
        const left = async (token = '') => comparable(await sendOneByOne(server, token, LEFT), names)
        const failed = alone.find(({ status }) => status >= 400)
        expect(batch.status).to.equal(failed?.status ?? 200)
        if (failed) {
          expect(statuses(batch)).to.deep.equal(alone.map(({ id, status }) => (id === failed.id ? status : 424)))
          expect(await left(one)).to.deep.equal(await left(await server.token(`new-${round}`, 'member')))
        } else {
          expect(comparable(batch.body.responses, names)).to.deep.equal(comparable(alone, names))
          expect(await left(one)).to.deep.equal(await left(two))
        }
        return batch.status
      }
      await fc.assert(
        fc.asyncProperty(anyRequests, async (shapes) => void (await compare(shapes))),
        {
          numRuns: runs(15),
        },
      )
      const fit = async (shapes: Parameters<typeof partsOf>[0]) => {
        expect(await compare(shapes)).to.equal(200)
      }
      await fc.assert(fc.asyncProperty(anyRequestsThatFit, fit), { numRuns: runs(15) })
    })

    it('is seen by nobody before it is done, and loses no write of others', async () => {
      const before = await total()
      const seen = new Set<number>()
      let isDone = false
      const watch = async () => {
        while (!isDone) seen.add((await total()) - before)
      }
      const many = (name: string) => Array.from({ length: 8 }, (_, at) => project('alice', `${name}${at}`))
      const watching = watch()
      const answers = await Promise.all([send(many('a')), send([...many('b'), refused]), send(many('c'))])
      isDone = true
      await watching
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 403, 200])
      expect([...seen].filter((count) => ![0, 8, 16].includes(count))).to.deep.equal([])
      const singles = Array.from({ length: 10 }, () =>
        server.ask('POST', '/projects', { token: alice, body: { ownerId: 'alice' } }),
      )
      const [batch, ...others] = await Promise.all([send(many('d')), ...singles])
      expect([batch.status, others.every(({ status }) => status === 201)]).to.deep.equal([200, true])
      expect(await total()).to.equal(before + 16 + 8 + 10)
    })

    it('is answered once for one idempotency key: a repeat does nothing, and shows no body', async () => {
      const key = { 'Idempotency-Key': 'all-of-them' }
      const before = await total()
      const first = await send([project('alice'), project('alice', 'q')], alice, key)
      const again = await send([project('alice'), project('alice', 'q')], alice, key)
      expect([first.status, again.status, again.headers.get('idempotency-replayed')]).to.deep.equal([200, 200, 'true'])
      expect(again.body.responses).to.deep.equal(
        first.body.responses.map(({ id, status, headers: { Location, ETag } }: PartAnswer) => ({
          id,
          status,
          headers: { ETag, Location },
        })),
      )
      expect(await total()).to.equal(before + 2)
      const other = await send([project('alice')], alice, key)
      expect([other.status, other.body.code]).to.deep.equal([422, 'idempotency-key-reused'])
      // A batch that was undone keeps no key.
      const undone = { 'Idempotency-Key': 'undone' }
      expect((await send([project('alice'), refused], alice, undone)).status).to.equal(403)
      expect((await send([project('alice')], alice, undone)).status).to.equal(200)
      const one = { ...project('alice'), headers: { 'Idempotency-Key': 'one-of-them' } }
      const [made] = (await send([one])).body.responses
      expect((await send([one])).body.responses[0].body.id).to.equal(made.body.id)
    })

    it('sees what it changes of its own caller', async () => {
      const answer = await send([
        { id: 'c', method: 'PATCH', path: '/profile', body: { bio: 'of the batch' } },
        { id: 'r', method: 'GET', path: '/profile' },
        project('alice'),
      ])
      const [changed, read] = answer.body.responses
      expect([changed.status, read.body.bio]).to.deep.equal([200, 'of the batch'])
      const gone = await send(
        [
          { id: 'd', method: 'DELETE', path: '/users/ada' },
          { id: 'r', method: 'GET', path: '/users/alice' },
        ],
        ada,
      )
      expect([gone.status, gone.body.code]).to.deep.equal([401, 'token-invalid'])
      expect((await server.ask('GET', '/users/ada', { token: ada })).status).to.equal(200)
    })

    it('keeps the guarantees about people, counted with its own writes', async () => {
      const give = (id: string, user: string): Part => ({
        id,
        method: 'PATCH',
        path: `/users/${user}`,
        body: { roles: ['auditor'] },
      })
      const both = await send([give('a', 'alice'), give('b', 'bob')], ada)
      expect([both.status, both.body.code]).to.deep.equal([403, 'too-many-with-role'])
      expect(statuses(both)).to.deep.equal([424, 403])
      const moved = await send(
        [give('a', 'alice'), { ...give('b', 'alice'), body: { roles: ['member'] } }, give('c', 'bob')],
        ada,
      )
      expect([moved.status, statuses(moved)]).to.deep.equal([200, [200, 200, 200]])
    })

    it('is refused where two of its writes have the same unique value, and neither is done', async () => {
      const user = (id: string): Part => ({
        id,
        method: 'POST',
        path: '/users',
        body: { email: 'twice@example.com', displayName: id },
      })
      const answer = await send([user('a'), user('b')], ada)
      expect([answer.status, answer.body.code]).to.deep.equal([409, 'unique-taken'])
      expect(statuses(answer)).to.deep.equal([424, 409])
      expect(statuses(await send([user('a')], ada))).to.deep.equal([201])
      const change = { id: 'c', method: 'PATCH', path: '/users/alice', body: { email: 'twice@example.com' } }
      expect((await send([project('alice'), change], ada)).body.code).to.equal('unique-taken')
    })
  })
}
