import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { Queues } from '../../src/base/queues.ts'
import { startTestServer, type TestServer } from '../server.ts'

const WRITERS = 24
const TIMES = 3

describe('writers of one object', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  it('are all served, however many come at once', async () => {
    const token = await server.token('ann', 'member')
    const { body: note } = await server.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })
    const statuses: number[] = []
    const patchOften = async (title: string) => {
      for (let time = 0; time < TIMES; time++) {
        const answer = await server.ask('PATCH', `/api/v1/notes/${note.id}`, { token, body: { title } })
        statuses.push(answer.status)
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, (_, n) => patchOften(`t${n}`)))
    expect(new Set(statuses)).to.deep.equal(new Set([200]))
    const updates = (await server.decisions()).filter(({ action, status }) => action === 'update' && status === 200)
    expect(updates).to.have.length(WRITERS * TIMES)
  })

  it('who come after it was deleted are recorded like a request for an object that never was', async () => {
    const token = await server.token('ann', 'member')
    const { body: note } = await server.ask('POST', '/api/v1/notes', { token, body: { title: 't' } })
    const remove = async () => (await server.ask('DELETE', `/api/v1/notes/${note.id}`, { token })).status
    const statuses = await Promise.all(Array.from({ length: WRITERS }, remove))
    expect(statuses.toSorted()).to.deep.equal([204, ...Array.from({ length: WRITERS - 1 }, () => 404)])
    expect(await remove()).to.equal(404)
    const missing = (await server.decisions()).filter(({ action, status }) => action === 'delete' && status === 404)
    expect(missing).to.have.length(WRITERS)
    const evidence = missing.map(({ rules, relations, facts }) => ({ rules, relations, facts }))
    expect(new Set(evidence.map((one) => JSON.stringify(one)))).to.deep.equal(
      new Set([JSON.stringify(evidence.at(-1))]),
    )
  })
})

describe('a queue', () => {
  const queues = new Queues()

  it('runs work of one name one at a time, in the order of arrival, also after work that failed', async () => {
    const seen: string[] = []
    const work = (name: string) => async () => {
      seen.push(`${name} begins`)
      await setImmediate()
      seen.push(`${name} ends`)
      if (name === 'b') throw new Error(name)
      return name
    }
    const taken = await Promise.allSettled(['a', 'b', 'c'].map((name) => queues.run('x', work(name))))
    expect(taken.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled'])
    expect(seen).to.deep.equal(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]))
  })

  it('does not let work of different names wait for one another', async () => {
    const never = Promise.withResolvers<void>()
    const held = queues.run('x', () => never.promise)
    expect(await queues.run('y', async () => 'y')).to.equal('y')
    never.resolve()
    await held
  })
})
