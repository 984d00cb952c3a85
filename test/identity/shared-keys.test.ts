/** Instances with folders of their own share their signing keys in the database: real processes, real HTTP. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { decodeProtectedHeader } from 'jose'
import { createKeySeal } from '../../src/identity/keys/embedded/key-seal.ts'
import { readKeysSecret } from '../../src/identity/keys/embedded/keys-secret.ts'
import { createPasswords } from '../../src/identity/sign-in/password.ts'
import { openSigningKeys } from '../../src/store/open.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { soak } from '../runs.ts'
import { until } from '../until.ts'
import { runCommand, type ServerProcess, startServer } from './processes.ts'
import { DATABASES, type SharedDatabase } from './shared-database.ts'

const ROOT = new URL('../..', import.meta.url).pathname
/** So that nothing is refused for another reason. */
const NO_LIMITS = 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n'
const PASSWORD = 'a password for tests'

interface SignedIn {
  readonly access_token: string
}

// The contract of stores holds the other one to the same.
for (const [engine, create] of soak(Object.entries(DATABASES).slice(0, -1), Object.entries(DATABASES).slice(-1)))
  describe(`signing keys in a database of ${engine}`, () => {
    let folder: string
    let database: SharedDatabase
    let env: Record<string, string>
    let north: ServerProcess
    let south: ServerProcess

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'sallyport-shared-'))
      database = await create()
      env = {
        DATABASE_URL: database.url,
        POLICIES: join(folder, 'policies'),
        KEYS_SECRET: newSecret(),
      }
      await cp(join(ROOT, 'policies'), join(folder, 'policies'), { recursive: true })
      await writeFile(join(folder, 'policies/limits.yaml'), NO_LIMITS)
      north = await start('north')
      south = await start('south')
      await addUser('zoe')
    })
    after(async () => {
      await Promise.all([north?.stop(), south?.stop()])
      await database?.remove()
      await removeFolder(folder)
    })

    const start = (name: string, more: Record<string, string> = {}) =>
      startServer(join(folder, name), { ...env, INSTANCE: name, ...more })
    /** A command in the environment of an instance. */
    const run = (name: string, args: readonly string[], more: Record<string, string> = {}) =>
      runCommand(join(folder, name), args, { ...env, ...more })
    const rotate = (...flags: readonly string[]) =>
      run('north', ['signing-keys', 'rotate', ...flags, '--format', 'json'])

    it('of one instance sign tokens that the other accepts, and no folder has a key', async () => {
      for (const [one, other] of [
        [north, south],
        [south, north],
      ] as const) {
        const token = await signIn(one)
        expect([await status(one, token), await status(other, token)]).to.deep.equal([200, 200])
      }
      expect(await published(north)).to.deep.equal(await published(south))
      for (const name of ['north', 'south']) expect(existsSync(join(folder, name, 'keys'))).to.equal(false)
    })

    it('need KEYS_SECRET: without it no server starts, and no command signs or makes a key', async () => {
      const without = { KEYS_SECRET: '' }
      const sentence =
        /sallyport: .*KEYS_SECRET is not set, and (?:there is no .*secret: restore the file|.* only kept encrypted in .*: set it to)/
      expect(await start('alone', without).catch(String)).to.match(sentence)
      for (const args of [
        ['token', '--subject', 'zoe'],
        ['signing-keys', 'list'],
        ['signing-keys', 'rotate', '--at-once'],
      ]) {
        const { code, stdout, stderr } = await run('stray', args, without)
        expect([code, stdout]).to.deep.equal([2, ''])
        expect(stderr).to.match(sentence)
      }
      expect(await published(north)).to.have.length(1)
    })

    it('are rotated for all: a token of the new key is accepted at once, older tokens stay valid', async () => {
      const before = await signIn(south)
      const { kid } = JSON.parse((await rotate()).stdout)
      // A command signs with the new key in the same moment, before any server has looked.
      const fresh = (await run('south', ['token', '--subject', 'zoe', '--role', 'member'])).stdout.trim()
      expect(decodeProtectedHeader(fresh).kid).to.equal(kid)
      expect([await status(north, fresh), await status(south, fresh)]).to.deep.equal([200, 200])
      await until(async () => (await published(south))[0] === kid && (await published(north))[0] === kid)
      const after = await signIn(north)
      expect(decodeProtectedHeader(after).kid).to.equal(kid)
      for (const token of [before, after]) {
        expect([await status(north, token), await status(south, token)]).to.deep.equal([200, 200])
      }
    })

    it('that are rotated at once are refused by every instance soon afterwards', async () => {
      const token = await signIn(north)
      for (const server of [north, south]) expect(await status(server, token)).to.equal(200)
      expect((await rotate('--at-once')).code).to.equal(0)
      for (const server of [north, south]) await until(async () => (await status(server, token)) === 401)
      const again = await signIn(south)
      expect([await status(north, again), await status(south, again)]).to.deep.equal([200, 200])
    })

    it('sign no session that counts after it ended: the next request of the other instance is refused', async () => {
      const token = await signIn(north)
      expect(await status(south, token)).to.equal(200)
      const ended = await fetch(`${north.url}/api/tokens/current`, { method: 'DELETE', headers: bearer(token) })
      expect([ended.status, await status(south, token)]).to.deep.equal([204, 401])
    })

    it('do not decide over API keys and roles either: what a command takes away counts at once, everywhere', async () => {
      const added = await run('north', [
        'key',
        'add',
        '--subject',
        'zoe',
        '--role',
        'member',
        '--expires',
        '1h',
        '--format',
        'json',
      ])
      const { id, key } = JSON.parse(added.stdout)
      const token = await signIn(south)
      for (const server of [north, south]) {
        expect([await status(server, key), await status(server, token)]).to.deep.equal([200, 200])
      }
      expect((await run('south', ['key', 'revoke', id])).code).to.equal(0)
      for (const server of [north, south]) expect(await status(server, key)).to.equal(401)
      expect((await run('south', ['user', 'disable', 'zoe'])).code).to.equal(0)
      for (const server of [north, south]) expect(await status(server, token)).to.equal(401)
      expect((await run('south', ['user', 'enable', 'zoe'])).code).to.equal(0)
    })

    it('are not guessed: a wrong secret stops the start and the commands, in one sentence without the secret', async () => {
      const KEYS_SECRET = newSecret()
      const sentence =
        /^sallyport: KEYS_SECRET can't decrypt the signing keys of the database .+; set KEYS_SECRET or .*\n$/
      const failed = await start('wrong', { KEYS_SECRET }).catch(String)
      expect(failed).to.contain("KEYS_SECRET can't decrypt the signing keys of the database")
      expect(failed).to.not.contain(KEYS_SECRET)
      for (const args of [
        ['signing-keys', 'list'],
        ['signing-keys', 'rotate'],
        ['token', '--subject', 'zoe'],
      ]) {
        const { code, stdout, stderr } = await run('wrong', args, { KEYS_SECRET })
        expect([code, stdout]).to.deep.equal([2, ''])
        expect(stderr).to.match(sentence)
      }
      expect((await run('north', ['signing-keys', 'list'])).code).to.equal(0)
    })

    it('that are damaged stop a start, and a running instance keeps its keys and says so once', async () => {
      const token = await signIn(north)
      const stored = await openSigningKeys(database.database)
      const { number = 0, text = '' } = (await stored.read()).keys.at(-1) ?? {}
      await stored.replace(number, text, 'damaged')
      try {
        expect(await start('damaged').catch(String)).to.match(
          /the signing key \d+ of the database .+ is damaged; restore/,
        )
        await until(() => north.log().includes('is damaged'))
        await sleep(1200)
        expect(north.log().match(/is damaged/g)?.length).to.be.at.most(2)
        expect(await status(north, token)).to.equal(200)
        const signed = await signIn(south)
        expect(await status(north, signed)).to.equal(200)
      } finally {
        await stored.replace(number, 'damaged', text)
        await stored.close()
      }
    })

    it('make readiness degraded while they are damaged, or encrypted under another secret', async () => {
      const stored = await openSigningKeys(database.database)
      const { number = 0, text = '' } = (await stored.read()).keys.at(-1) ?? {}
      const current = readKeysSecret('KEYS_SECRET', newSecret())
      const foreign = await createKeySeal({ current, old: [] }).seal(number, '{}')
      const ada = (await run('north', ['token', '--subject', 'ada', '--role', 'admin'])).stdout.trim()
      const ready = async () => {
        const answer = await fetch(`${north.url}/readyz`, { headers: bearer(ada) })
        const { status: whole, checks } = (await answer.json()) as { status: string; checks: Record<string, object> }
        return { code: answer.status, whole, keys: checks.keys }
      }
      const good = { code: 200, whole: 'ok', keys: { status: 'ok' } }
      const detail = "the signing keys can't be read; the previous keys stay in use; read the log"
      try {
        for (const unreadable of ['damaged', foreign]) {
          await until(async () => (await ready()).whole === 'ok')
          expect(await ready()).to.deep.equal(good)
          await stored.replace(number, text, unreadable)
          await until(async () => (await ready()).whole !== 'ok')
          expect(await ready()).to.deep.equal({ code: 200, whole: 'degraded', keys: { status: 'degraded', detail } })
          await stored.replace(number, unreadable, text)
        }
        await until(async () => (await ready()).whole === 'ok')
      } finally {
        for (const one of ['damaged', foreign]) await stored.replace(number, one, text)
        await stored.close()
      }
    })

    it('get a new secret while instances run: no token is refused, and in the end the old secret opens nothing', async () => {
      const old = env.KEYS_SECRET ?? ''
      const both = { KEYS_SECRET: newSecret(), KEYS_SECRET_OLD: old }
      const token = await signIn(north)
      await south.stop()
      south = await start('south', both)
      const other = await signIn(south)
      for (const server of [north, south]) {
        expect([await status(server, token), await status(server, other)]).to.deep.equal([200, 200])
      }
      await north.stop()
      north = await start('north', both)
      const { code, stdout } = await run('north', ['signing-keys', 'reencrypt'], both)
      expect([code, stdout]).to.match(/^0,Encrypted \d+ signing keys/)
      const { KEYS_SECRET } = both
      const third = await start('third', { KEYS_SECRET })
      for (const server of [north, south, third]) {
        expect([await status(server, token), await status(server, other)]).to.deep.equal([200, 200])
      }
      await third.stop()
      expect((await run('north', ['signing-keys', 'list'], { KEYS_SECRET: old })).code).to.equal(2)
      env = { ...env, KEYS_SECRET }
      expect((await run('north', ['signing-keys', 'list'])).code).to.equal(0)
    })

    it('never stand in a log, and neither does the secret', async () => {
      const secret = env.KEYS_SECRET ?? 'none'
      for (const text of [north.log(), south.log()]) {
        expect(text).to.contain('listening')
        expect(text).to.not.contain(secret)
        expect(text).to.not.match(/"d":|PRIVATE KEY/)
      }
    })

    async function addUser(id: string): Promise<void> {
      const { store, seeding, directory } = await database.open()
      const document = { email: `${id}@example.com`, displayName: id, roles: ['member'] }
      await seeding.insert('users', [{ id, document }])
      await directory.setPassword(id, { hash: await createPasswords().hash(PASSWORD), oneTime: false })
      await store.close()
    }

    async function signIn({ url }: ServerProcess): Promise<string> {
      const body = JSON.stringify({ email: 'zoe@example.com', password: PASSWORD })
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${url}/api/tokens`, { method: 'POST', headers, body })
      expect(response.status, 'the sign-in').to.equal(200)
      return ((await response.json()) as SignedIn).access_token
    }
  })

async function status({ url }: ServerProcess, token: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/notes`, { headers: bearer(token) })
  await response.arrayBuffer()
  return response.status
}

/** The kids, the signing one first. */
async function published({ url }: ServerProcess): Promise<readonly string[]> {
  const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { keys: readonly { kid: string }[] }
  return keys.map(({ kid }) => kid)
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

function newSecret(): string {
  return randomBytes(32).toString('base64url')
}
