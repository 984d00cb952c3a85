/** POST /batch: each of its requests is answered as if it had come alone, after those before it. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import fc from 'fast-check'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { withRules } from '../policy-text.ts'
import { runs } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import {
  anyRequests,
  BATCHING,
  comparable,
  type Part,
  type PartAnswer,
  partsOf,
  sendBatch,
  sendOneByOne,
} from './batch-world.ts'

const project = (ownerId: string): Part => ({ id: 'p', method: 'POST', path: '/projects', body: { ownerId } })

for (const [engine, startOn] of ENGINES) {
  describe(`a batch, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    const tokens = new Map<string, string>()

    before(async () => {
      on = await startOn({ files: BATCHING })
      server = on.server
      for (const name of ['alice', 'bob']) tokens.set(name, await server.token(name, 'member'))
      tokens.set('nobody', await server.token('nobody', 'support-of-others'))
    })
    after(() => on.stop())

    const send = async (who: string, requests: readonly Part[], headers: Record<string, string> = {}) => {
      const answer = await sendBatch(server, tokens.get(who), requests, { headers })
      expect([answer.status, answer.text]).to.satisfy(([status]: [number]) => status === 200)
      return answer.body.responses as readonly PartAnswer[]
    }

    it('answers its requests in their order, each with the values of those before it', async () => {
      const [made, task, read, gone] = await send('alice', [
        project('alice'),
        { id: 't', method: 'POST', path: '/tasks', body: { ownerId: 'alice', projectId: { $ref: 'p.id' } } },
        { id: 'g', method: 'GET', path: '/tasks/{t.id}?expand=projectId' },
        { id: 'd', method: 'DELETE', path: '/projects/{t.projectId}', headers: { 'if-match': '*' } },
      ])
      expect([made?.status, task?.status, read?.status, gone?.status]).to.deep.equal([201, 201, 200, 204])
      expect(made?.headers.Location).to.equal(`/projects/${made?.body.id}`)
      expect(read?.body.expanded.projectId.id).to.equal(made?.body.id)
      expect(read?.headers.ETag).to.match(/^"/)
      expect(gone).not.to.have.property('body')
      expect((await server.ask('GET', `/tasks/${task?.body.id}`, { token: tokens.get('alice') })).status).to.equal(404)
    })

    it('gives each request its own record, with the id of the batch', async () => {
      const [, refused] = await send('alice', [
        project('alice'),
        { id: 'x', method: 'POST', path: '/projects', body: { ownerId: 'bob' } },
        { id: 'y', method: 'GET', path: '/projects/{x.id}' },
      ])
      expect(refused?.status).to.equal(403)
      const whole = await server.lastDecision({ route: '/batch', subject: 'alice' })
      expect(whole).to.include({ resource: 'system/batch', action: 'send', status: 200 })
      expect(whole).not.to.have.property('batch')
      const parts = (await server.decisions()).filter(({ batch }) => batch === whole?.requestId)
      expect(new Set(parts.flatMap(({ address, subject }) => (subject ? [address] : [])))).to.deep.equal(
        new Set([whole?.address]),
      )
      expect(parts.map(({ method, status }) => `${method} ${status}`).toSorted()).to.deep.equal([
        'GET 424',
        'POST 201',
        'POST 403',
      ])
    })

    it('does what the same requests do one after the other, whatever they are', async () => {
      let round = 0
      await fc.assert(
        fc.asyncProperty(anyRequests, async (shapes) => {
          round += 1
          const [together, apart] = [`together-${round}`, `apart-${round}`]
          const [one, two] = await Promise.all([together, apart].map((name) => server.token(name, 'member')))
          const batch = await sendBatch(server, one, partsOf(shapes, together))
          const alone = await sendOneByOne(server, two ?? '', partsOf(shapes, apart))
          const names = { [together]: 'owner', [apart]: 'owner' }
          expect(comparable(batch.body.responses, names)).to.deep.equal(comparable(alone, names))
          const left = async (token: string | undefined) =>
            comparable(await sendOneByOne(server, token ?? '', LEFT), names)
          expect(await left(one)).to.deep.equal(await left(two))
        }),
        { numRuns: runs(15) },
      )
      // The control: the comparison sees one request more.
      const names = { alice: 'owner' }
      const before = await send('alice', LEFT)
      await send('alice', [project('alice')])
      expect(comparable(await send('alice', LEFT), names)).not.to.deep.equal(comparable(before, names))
    })

    it('creates once with an idempotency key, be it of a request or of the batch', async () => {
      const own = { ...project('alice'), headers: { 'Idempotency-Key': 'own-key' } }
      const [first] = await send('alice', [own])
      const [again] = await send('alice', [own])
      expect(again?.body.id).to.equal(first?.body.id)
      expect(again?.headers['Idempotency-Replayed']).to.equal('true')
      const whole = { 'Idempotency-Key': 'of-the-batch' }
      const [one] = await send('alice', [project('alice'), { ...project('alice'), id: 'q' }], whole)
      const [same, other] = await send('alice', [project('alice'), { ...project('alice'), id: 'q' }], whole)
      expect(same?.body.id).to.equal(one?.body.id)
      expect(other?.body.id).not.to.equal(one?.body.id)
      const [reused] = await send('alice', [{ ...project('alice'), body: { ownerId: 'bob' } }], whole)
      expect(reused?.status).to.equal(403)
      const [anew] = await send('alice', [project('alice')])
      expect(anew?.body.id).not.to.equal(one?.body.id)
    })

    it('is sent by nobody without a grant, and gives nobody more than the requests alone', async () => {
      for (const [token, status] of [
        [undefined, 401],
        [tokens.get('nobody'), 403],
      ] as const) {
        const answer = await sendBatch(server, token, [project('alice')])
        expect(answer.status).to.equal(status)
      }
      const [made] = await send('alice', [project('alice')])
      const [read, change] = await send('bob', [
        { id: 'r', method: 'GET', path: `/projects/${made?.body.id}` },
        { id: 'c', method: 'PUT', path: `/projects/${made?.body.id}`, body: { ownerId: 'bob' } },
      ])
      const alone = await server.ask('GET', `/projects/${made?.body.id}`, { token: tokens.get('bob') })
      expect([read?.status, change?.status]).to.deep.equal([alone.status, alone.status])
    })
  })
}

describe('the batch of docs/batches.md', () => {
  it('is answered as the page says', async () => {
    const page = readFileSync(new URL('../../docs/batches.md', import.meta.url), 'utf8')
    const rule = /^ +(p, member, system\/batch, .*)$/m.exec(page)?.[1] ?? ''
    const [body = '', all = ''] = [...page.matchAll(/^```json\n(\{.*?)^```/gms)].map(([, text]) => text)
    const shipped = readFileSync(new URL('../../policies/policy.csv', import.meta.url), 'utf8')
    const server = await startTestServer({ files: { 'policies/policy.csv': withRules(shipped, rule) } })
    try {
      const token = await server.token('alice', 'member')
      const answer = await server.ask('POST', '/batch', { token, body: JSON.parse(body) })
      const [order, note, place] = answer.body.responses
      expect([order.status, note.status, place.status]).to.deep.equal([201, 201, 200])
      expect([note.body.body, place.body.status]).to.deep.equal([order.body.id, 'placed'])
      const atomic = await server.ask('POST', '/batch', { token, body: JSON.parse(all) })
      expect(atomic.body.responses.map(({ status }: PartAnswer) => status)).to.deep.equal([201, 201])
    } finally {
      await server.stop()
    }
  })
})

describe('a schema file with the path /batch', () => {
  it('keeps it: then there are no batches, and POST creates its object', async () => {
    const projects = BATCHING['schemas/projects.json']
    const brews = projects.replaceAll('/projects', '/batch').replace('"title":"projects"', '"title":"brews"')
    const files = {
      ...BATCHING,
      'schemas/brews.json': brews,
      'policies/policy.csv': withRules(
        BATCHING['policies/policy.csv'],
        'p, member, brews, list|create|read, any, *, allow',
      ),
    }
    const server = await startTestServer({ files })
    try {
      const token = await server.token('alice', 'member')
      const made = await server.ask('POST', '/batch', { token, body: { ownerId: 'alice' } })
      expect([made.status, made.body.ownerId]).to.deep.equal([201, 'alice'])
      expect((await sendBatch(server, token, [project('alice')])).body.code).to.equal('invalid-body')
      expect((await server.ask('GET', '/batch', { token })).body.items).to.have.length(1)
      expect(await server.lastDecision({ method: 'POST', status: 201 })).to.include({ resource: 'brews' })
    } finally {
      await server.stop()
    }
  })
})

const LEFT: readonly Part[] = ['projects', 'tasks'].map((name) => ({
  id: name,
  method: 'GET',
  path: `/${name}?limit=200`,
}))
