/** A made client that follows events and reads histories: typed, and on real servers of both engines. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { createApiKey, hashOfSecret } from '../../src/identity/directory/api-key.ts'
import { errorLines, expectedLines } from '../compile-errors.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { startTcpProxy } from '../tcp-proxy.ts'
import { until } from '../until.ts'
import { FOLLOWED, makeClient } from './following-world.ts'

const CALLS = 'following-client.ts'

// biome-ignore lint/suspicious/noExplicitAny: its types are there only when this test has made the client
type Calls = any

let making: Promise<string> | undefined
/** Once for all parts of this file. */
const made = () => {
  making ??= makeClient('parcels.ts')
  return making
}

const emptyCopy = () => ({ parcels: new Map<string, { state: string }>(), kinds: [] as string[], lastId: '' })

describe('a made client of events and histories', () => {
  before(async () => {
    await made()
  })

  it('compiles with nothing unused, and refuses what streams and histories have not', async () => {
    expect(expectedLines(CALLS)).to.have.length(14)
    expect(await errorLines(CALLS)).to.deep.equal(expectedLines(CALLS))
  })
})

for (const [engine, startOn] of ENGINES) {
  describe(`a made client, on ${engine}`, () => {
    let on: OnEngine
    let calls: Calls
    let ada: string
    const stops: AbortController[] = []

    before(async () => {
      await made()
      on = await startOn({ files: FOLLOWED })
      calls = await import(new URL(`../compile/${CALLS}`, import.meta.url).href)
      ada = on.tokens.ada ?? ''
    })
    afterEach(() => {
      for (const stop of stops.splice(0)) stop.abort()
    })
    after(() => on.stop())

    /** Follows until the test ends; `ended` has the error with which the events ended. */
    const follow = (options: object, more: object = {}) => {
      const copy = emptyCopy()
      const stop = new AbortController()
      stops.push(stop)
      const api = calls.connect({ url: on.server.url, token: ada, ...options })
      const ended = calls.keepCopy(api, copy, { signal: stop.signal, ...more }).catch((error: unknown) => error)
      return { copy, ended, stop }
    }
    const keyOf = async (lifeMs: number) => {
      const { id, text, secret } = createApiKey()
      const now = Date.now()
      const key = { id, secretHash: hashOfSecret(secret), subject: 'robot', roles: ['admin'], name: '', createdAt: now }
      await on.server.app.directory.addKey({ ...key, expiresAt: now + lifeMs })
      return { id, text }
    }
    const api = () => calls.connect({ url: on.server.url, token: ada })

    it('keeps a copy of the list, and goes on where it was when the connection breaks', async () => {
      const proxy = await startTcpProxy(Number(new URL(on.server.url).port))
      try {
        const lost: unknown[] = []
        const url = `http://127.0.0.1:${proxy.port}`
        const { copy, ended, stop } = follow({ url }, { onLost: (error: unknown) => lost.push(error) })
        await until(() => copy.kinds.includes('start'))
        const first = await api().parcels.create({ ownerId: 'alice' })
        const second = await api().parcels.create({ ownerId: 'bob' })
        await until(() => copy.parcels.size === 2)
        proxy.cut()
        await api().parcels.update(first, { state: 'sent' })
        await api().parcels.delete(second)
        await until(() => copy.parcels.size === 1 && copy.parcels.get(first.id)?.state === 'sent')
        expect(copy.kinds).to.deep.equal(['reset', 'start', 'appeared', 'appeared', 'changed', 'gone'])
        expect(lost).to.have.length(1)
        const reason = new Error('enough')
        stop.abort(reason)
        expect(await ended).to.equal(reason)

        const later = follow({}, { after: copy.lastId })
        await api().parcels.create({ ownerId: 'carol' })
        await until(() => later.copy.kinds.length > 0)
        expect(later.copy.kinds).to.deep.equal(['appeared'])
      } finally {
        await proxy.close()
      }
    })

    it('goes on with a new token where the old one has expired, in a stream and in requests', async () => {
      const [old, fresh] = [await keyOf(1500), await keyOf(3_600_000)]
      const asked: unknown[] = []
      const token = async (refused?: string) => {
        if (refused === undefined) return old.text
        asked.push(refused)
        await sleep(20)
        return fresh.text
      }
      const { copy } = follow({ token })
      await until(() => copy.kinds.includes('start'))
      await until(() => asked.length > 0)
      const { id } = await api().parcels.create({ ownerId: 'alice' })
      await until(() => copy.kinds.length > 4)
      expect(copy.parcels.has(id)).to.equal(true)
      expect(copy.kinds).to.deep.equal(['reset', 'start', 'reset', 'access', 'appeared'])
      expect(asked).to.deep.equal([old.text])

      // Requests that are refused together ask once, also those that change something.
      const { parcels } = calls.connect({ url: on.server.url, token })
      const changed = await Promise.all(['a', 'b', 'c'].map((ownerId) => parcels.update(id, { ownerId })))
      expect(changed).to.have.length(3)
      expect(asked).to.deep.equal([old.text, old.text])
    })

    it('ends with the typed problem when its token ends and there is no other one', async () => {
      const { id, text } = await keyOf(3_600_000)
      const asked: unknown[] = []
      const token = (refused?: string) => {
        if (refused !== undefined) asked.push(refused)
        return text
      }
      const streams = [follow({ token }), follow({ token: text })]
      await until(() => streams.every(({ copy }) => copy.kinds.includes('start')))
      await on.server.app.directory.revokeKey(id)
      for (const { ended } of streams)
        expect(await ended)
          .to.be.instanceOf(calls.ApiProblem)
          .and.to.include({ status: 401, code: 'token-invalid' })
      expect(asked).to.deep.equal([text])
    })

    it('reads the versions of an object, and the one of a time', async () => {
      const made = await api().parcels.create({ ownerId: 'alice' })
      const { updatedAt } = await api().parcels.update(made, { state: 'sent' })
      await api().parcels.update(made.id, { state: 'lost' })
      expect(await calls.pastOf(api(), made.id, updatedAt)).to.deep.equal({
        states: [
          [3, 'lost'],
          [2, 'sent'],
          [1, 'new'],
        ],
        first: [3, true],
        atTime: [2, 'sent', 'ada'],
        tooEarly: true,
      })
    })
  })
}
