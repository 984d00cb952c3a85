/** What is taken away has no effect left on the next request, of any process that shares the database. */
import { randomBytes, randomUUID } from 'node:crypto'
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { embeddedKey } from '../../bench/fixture/embedded-key.ts'
import { readConfig } from '../../src/config/config.ts'
import { createApiKey, hashOfSecret } from '../../src/identity/directory/api-key.ts'
import type { EmbeddedKey } from '../../src/identity/keys/embedded/embedded-key.ts'
import { issueToken } from '../../src/identity/tokens/issue-token.ts'
import type { OpenedStore } from '../../src/store/contract.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { runCommand, type ServerProcess, startServer } from './processes.ts'
import { DATABASES, type SharedDatabase } from './shared-database.ts'

const HOUR = 3_600_000
const ROOT = new URL('../..', import.meta.url).pathname
/** So that nothing is refused for another reason. */
const NO_LIMITS = 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n'

/** How many clients ask each server while something is taken away. */
const CLIENTS = 3

interface Credential {
  readonly token: string
  readonly userId: string
  /** Of its session or its key. */
  readonly id: string
}

interface Asked {
  readonly status: number
  /** `performance.now()` when the request was sent. */
  readonly sent: number
}

for (const [engine, create] of Object.entries(DATABASES))
  describe(`what is taken away on ${engine}`, () => {
    let data: string
    let database: SharedDatabase
    let env: Record<string, string>
    let key: EmbeddedKey
    let servers: readonly [ServerProcess, ServerProcess]
    /** A third process on the same database: this one. */
    let opened: OpenedStore
    let admin: string

    before(async () => {
      data = await mkdtemp(join(tmpdir(), 'sallyport-'))
      const POLICIES = join(data, 'policies')
      await cp(join(ROOT, 'policies'), POLICIES, { recursive: true })
      await writeFile(join(POLICIES, 'limits.yaml'), NO_LIMITS)
      database = await create()
      env = { POLICIES, DATABASE_URL: database.url, KEYS_SECRET: randomBytes(32).toString('base64') }
      const first = await startServer(data, env)
      key = await embeddedKey(readConfig({ ...env, DATA_DIR: data }))
      servers = [first, await startServer(data, env)]
      opened = await database.open()
      admin = await token('root', ['admin'])
    })
    after(async () => {
      await opened?.store.close()
      await Promise.all((servers ?? []).map((server) => server.stop()))
      await database?.remove()
      await removeFolder(data)
    })

    const takenAway: Readonly<
      Record<string, { credential: () => Promise<Credential>; take: (from: Credential) => Promise<unknown> }>
    > = {
      'a session that signs out': { credential: session, take: ({ id }) => opened.directory.endSession(id) },
      'the sessions of a user who is disabled': {
        credential: session,
        take: ({ userId }) => opened.directory.disable(userId),
      },
      'the sessions of a user whose password was set anew': {
        credential: session,
        take: ({ userId }) => opened.directory.setPassword(userId, { hash: 'h2', oneTime: false }),
      },
      'the sessions of a user who is deleted': { credential: session, take: deleteUser },
      "a session's role that the users record has no more": { credential: session, take: takeRole },
      'an API key that is revoked': { credential: apiKey, take: ({ id }) => opened.directory.revokeKey(id) },
      'an API key of a user who is disabled': {
        credential: apiKey,
        take: ({ userId }) => opened.directory.disable(userId),
      },
      'an API key of a user who is deleted': { credential: apiKey, take: deleteUser },
      "an API key's role that the users record has no more": { credential: apiKey, take: takeRole },
      'a token without a session, of a user who is disabled': {
        credential: plainToken,
        take: ({ userId }) => opened.directory.disable(userId),
      },
      'a token without a session, of a user who is deleted': { credential: plainToken, take: deleteUser },
    }

    for (const [what, { credential, take }] of Object.entries(takenAway)) {
      it(`${what}: no request that is sent afterwards is let in, by any process`, async () => {
        const held = await credential()
        const { before, after } = await askWhile(held.token, () => take(held))
        expect(before.filter(isLetIn).length, 'let in before').to.be.greaterThan(CLIENTS)
        expect(after.length, 'asked afterwards').to.be.greaterThan(CLIENTS)
        expect(after.filter(isLetIn), 'let in afterwards').to.deep.equal([])
        expect(after.filter(isRefused).length, 'refused afterwards').to.equal(after.length)
      })
    }

    it('by the command line: neither', async () => {
      const held = await apiKey()
      const { after } = await askWhile(held.token, async () => {
        expect((await runCommand(data, ['key', 'revoke', held.id], env)).code).to.equal(0)
      })
      expect(after.length).to.be.greaterThan(CLIENTS)
      expect(after.filter(isLetIn)).to.deep.equal([])
    })

    it('late would be found out', async () => {
      const held = await apiKey()
      let revoked: Promise<unknown> | undefined
      const late = async () => {
        // Long enough for a client to ask again, however busy the machine is.
        revoked = sleep(200).then(() => opened.directory.revokeKey(held.id))
      }
      const { after } = await askWhile(held.token, late)
      await revoked
      expect(after.filter(isLetIn)).not.to.deep.equal([])
    })

    it('is given back at once, too', async () => {
      const held = await plainToken()
      await opened.directory.disable(held.userId)
      for (const { url } of servers) expect((await ask(url, held.token)).status).to.equal(401)
      await opened.directory.enable(held.userId)
      for (const { url } of servers) expect((await ask(url, held.token)).status).to.equal(200)
    })

    it('a session gets a role at once that is added to the users record', async () => {
      const held = await session([])
      for (const { url } of servers) expect((await ask(url, held.token)).status).to.equal(403)
      await patchRoles(held.userId, ['auditor'])
      for (const { url } of servers) expect((await ask(url, held.token)).status).to.equal(200)
    })

    /** Asks both servers all the time, before and while something happens and for a while afterwards. */
    async function askWhile(token: string, happen: () => Promise<unknown>) {
      const asked: Asked[] = []
      let asking = true
      const clients = servers.flatMap(({ url }) =>
        Array.from({ length: CLIENTS }, async () => {
          while (asking) asked.push(await ask(url, token))
        }),
      )
      while (asked.length < 4 * CLIENTS) await tick()
      await happen()
      const happened = performance.now()
      const later = () => asked.filter(({ sent }) => sent > happened)
      while (later().length < 12 * CLIENTS) await tick()
      asking = false
      await Promise.all(clients)
      return { before: asked.filter(({ sent }) => sent <= happened), after: later() }
    }

    async function ask(url: string, token: string): Promise<Asked> {
      const sent = performance.now()
      const response = await fetch(`${url}/api/v1/notes`, { headers: { authorization: `Bearer ${token}` } })
      await response.arrayBuffer()
      return { status: response.status, sent }
    }

    async function user(roles: readonly string[]): Promise<string> {
      const id = randomUUID()
      const document = { email: `${id}@example.com`, displayName: 'Somebody', roles: [...roles] }
      await opened.seeding.insert('users', [{ id, document }])
      return id
    }

    async function session(roles: readonly string[] = ['auditor']): Promise<Credential> {
      const [userId, id, createdAt] = [await user(roles), randomUUID(), Date.now()]
      await opened.directory.setPassword(userId, { hash: 'h1', oneTime: false })
      const refresh = { family: 'f', current: 'c' }
      const ends = { createdAt, endsAt: createdAt + HOUR, idleEndsAt: createdAt + HOUR }
      expect(await opened.directory.openSession({ id, userId, ...ends, refresh }, { hash: 'h1' })).to.equal(true)
      return { token: await token(userId, ['member'], id), userId, id }
    }

    async function apiKey(): Promise<Credential> {
      const userId = await user(['auditor'])
      const { id, text, secret } = createApiKey()
      const createdAt = Date.now()
      const lasts = { createdAt, expiresAt: createdAt + HOUR }
      await opened.directory.addKey({
        id,
        secretHash: hashOfSecret(secret),
        subject: userId,
        roles: ['auditor'],
        name: '',
        ...lasts,
      })
      return { token: text, userId, id }
    }

    async function plainToken(): Promise<Credential> {
      const userId = await user([])
      return { token: await token(userId, ['auditor']), userId, id: '' }
    }

    function token(subject: string, roles: readonly string[], session?: string): Promise<string> {
      return issueToken(key, {
        subject,
        roles,
        issuer: 'sallyport',
        audience: 'sallyport',
        lifetimeSeconds: 600,
        session,
      })
    }

    /** By a request to the second server: what is taken away there counts in the first one. */
    async function deleteUser({ userId }: Credential): Promise<void> {
      const response = await fetch(`${servers[1].url}/api/users/${userId}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${admin}` },
      })
      expect(response.status).to.equal(204)
    }

    function takeRole({ userId }: Credential): Promise<void> {
      return patchRoles(userId, [])
    }

    async function patchRoles(userId: string, roles: readonly string[]): Promise<void> {
      const response = await fetch(`${servers[1].url}/api/users/${userId}`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
        body: JSON.stringify({ roles }),
      })
      expect(response.status).to.equal(200)
    }
  })

function isLetIn({ status }: Asked): boolean {
  return status === 200
}

function isRefused({ status }: Asked): boolean {
  return status === 401 || status === 403
}

function tick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1))
}
