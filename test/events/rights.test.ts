/** Whoever follows events and loses a right is told no more, and learns no more than a GET would tell. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { createApiKey, hashOfSecret } from '../../src/identity/directory/api-key.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import type { TestServer } from '../server.ts'
import { countedStatements } from '../store/counted-statements.ts'
import { until } from '../until.ts'
import { EVENTS_WORLD } from './events-world.ts'
import { FollowingClient, Refusal } from './follow.ts'

for (const [engine, startOn] of ENGINES) {
  describe(`the rights of whoever follows events, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    let admin: string
    const clients: FollowingClient[] = []

    before(async () => {
      on = await startOn({ files: EVENTS_WORLD })
      server = on.server
      admin = await server.token('ada', 'admin')
      await addPerson('lena', ['member', 'support'])
    })
    afterEach(() => {
      for (const client of clients.splice(0)) client.close()
    })
    after(() => on.stop())

    const addPerson = (id: string, roles: readonly string[]) =>
      server.app.seeding.insert('users', [
        { id, document: { email: `${id}@x.test`, displayName: id, roles: [...roles] } },
      ])
    const make = async (fields: Record<string, unknown> = {}) =>
      (await server.ask('POST', '/parcels', { token: admin, body: fields })).body.id as string
    const open = async (token: string) => {
      const client = await FollowingClient.open(server.url, token)
      clients.push(client)
      await until(() => client.heard.length > 0)
      const id = await make({ ownerId: 'lena', note: 'seen' })
      await until(() => client.held.has(id))
      return client
    }
    const keyOf = async (subject: string, roles: readonly string[], lifeMs = 3_600_000) => {
      const { id, text, secret } = createApiKey()
      const now = Date.now()
      const key = { id, secretHash: hashOfSecret(secret), subject, roles, name: '', createdAt: now }
      await server.app.directory.addKey({ ...key, expiresAt: now + lifeMs })
      return { id, text }
    }
    /** The stream has ended, nothing came after the reset, and who asks again is refused like any request. */
    const expectEnd = async (client: FollowingClient, token: string, status: number) => {
      await until(() => client.isEnded)
      await make({ ownerId: 'lena' })
      expect(client.heard.at(-1)).to.deep.include({ kind: 'reset', data: { reason: 'access' } })
      const refusal = await FollowingClient.open(server.url, token).catch((error: unknown) => error)
      expect(refusal).to.be.instanceOf(Refusal).and.to.include({ status })
      const ended = (await server.deeds()).findLast(({ action }) => action === 'watch')
      expect(ended).to.deep.include({ outcome: 'refused', status })
      expect(ended?.followed).to.include({ end: 'refused' })
      expect(String(refusal)).to.contain(`"code":"${ended?.problem}"`)
    }
    const change = async (name: string, edit: (text: string) => string) => {
      const file = join(server.folder, 'policies', name)
      const before = await readFile(file, 'utf8')
      await writeFile(file, edit(before))
      return () => writeFile(file, before)
    }

    if (engine === 'PostgreSQL')
      it('are looked at together: many callers are a statement, and not each one', async () => {
        const names = Array.from({ length: 60 }, (_, i) => `follower${i}`)
        const tokens = await Promise.all(names.map((name) => server.token(name, 'member')))
        const opened = await Promise.all(
          tokens.map((token) => FollowingClient.open(server.url, token, { lists: false })),
        )
        clients.push(...opened)
        await until(() => opened.every(({ heard }) => heard.length > 0))
        const isOfAccounts = (text: string) => text.includes('from accounts')
        const [, statements] = await countedStatements(() => sleep(2500), isOfAccounts)
        // Four looks; on a busy machine fewer.
        expect(statements).to.be.within(1, 8)
        await server.app.directory.disable('follower7')
        await until(() => opened[7]?.isEnded === true)
        expect(opened.filter(({ isEnded }) => isEnded)).to.have.length(1)
      })

    it('end with its API key: when the key is revoked, and when it expires in the middle of the stream', async () => {
      const { id, text } = await keyOf('robot', ['support'])
      const client = await open(text)
      await server.app.directory.revokeKey(id)
      await expectEnd(client, text, 401)
      const short = await keyOf('robot', ['support'], 1500)
      await expectEnd(await open(short.text), short.text, 401)
    })

    it('end when the account is disabled, or blocked by the policy', async () => {
      await addPerson('mia', ['support'])
      const token = await server.token('mia', 'support')
      const client = await open(token)
      await server.app.directory.disable('mia')
      await expectEnd(client, token, 401)
      const bob = await server.token('bob', 'support')
      const other = await open(bob)
      const undo = await change('blocked.txt', (text) => `${text}user:bob\n`)
      await expectEnd(other, bob, 403)
      await undo()
    })

    it('are others with other roles: the list begins anew, and shows what is left', async () => {
      const client = await open((await keyOf('lena', ['member', 'support'])).text)
      const foreign = await make({ ownerId: 'zoe' })
      await until(() => client.held.has(foreign))
      const answer = await server.ask('PATCH', '/users/lena', { token: admin, body: { roles: ['member'] } })
      expect(answer.status, answer.text).to.equal(200)
      await until(() => !client.held.has(foreign))
      expect(client.held.size).to.be.greaterThan(0)
      const later = [await make({ ownerId: 'zoe' }), await make({ ownerId: 'lena' })]
      await until(() => client.held.has(later[1] ?? ''))
      expect(client.held.has(later[0] ?? '')).to.equal(false)
      expect(client.isEnded).to.equal(false)
    })

    it('follow the policy: other fields begin the list anew, rules of others change nothing, and without `watch` it ends', async () => {
      const token = await server.token('sue', 'support')
      const client = await open(token)
      const undo = await change('policy.csv', (text) =>
        text.replace('p, auditor, parcels, read|list|watch', 'p, auditor, parcels, read'),
      )
      const otto = await server.token('otto', 'auditor')
      await until(async () => (await FollowingClient.open(server.url, otto).catch((error) => error)) instanceof Refusal)
      await sleep(600)
      expect(client.heard.filter(({ kind }) => kind === 'reset')).to.have.length(1)
      await undo()
      const brief = 'p, support, parcels, read|list|watch, any, brief'
      const undoBrief = await change('policy.csv', (text) =>
        text.replace('p, support, parcels, read|list|watch, any, open', brief),
      )
      await until(() => [...client.held.values()].every((one) => !('note' in (one as object))))
      const id = await make({ note: 'hidden' })
      await until(() => client.held.has(id))
      expect(client.held.get(id)).to.have.all.keys('id', 'state')
      await undoBrief()
      await until(() => (client.held.get(id) as { note?: string }).note === 'hidden')
      const undoAll = await change('policy.csv', (text) =>
        text.replaceAll('parcels, read|list|watch', 'parcels, read|list'),
      )
      await expectEnd(client, token, 403)
      await undoAll()
    })
  })
}
