/** Signing keys are rotated beside a running server: old tokens stay valid until they end, or go at once when that is asked. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { decodeProtectedHeader, type JWK } from 'jose'
import { canSign } from '../../src/identity/keys/embedded/embedded-key.ts'
import { writeDraft } from '../../src/identity/keys/embedded/key-drafts.ts'
import {
  noteTokenEnd,
  openEmbeddedKey,
  openKeyFolder,
  readKeys,
  removeRetired,
  succeed,
  tidy,
} from '../../src/identity/keys/embedded/key-folder.ts'
import { UNNOTED_MS } from '../../src/identity/keys/embedded/key-place.ts'
import { type KeyRing, openKeyRing } from '../../src/identity/keys/embedded/key-ring.ts'
import { KeysInFolder } from '../../src/identity/keys/embedded/keys-in-folder.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { runCommand } from './processes.ts'

const SCHEMA = new URL('../../docs/schemas/signing-keys-list.schema.json', import.meta.url)

describe('the embedded keys in their folder', () => {
  let data: string
  let folder: string

  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'sallyport-keys-'))
    await openEmbeddedKey(data)
    folder = await openKeyFolder(data)
  })
  afterEach(() => removeFolder(data))

  it('the newest signs, and the older ones verify until the last token of sign-in has ended', async () => {
    const { current } = await readKeys(folder)
    await succeed(folder, current.number)
    const [retired] = await tidy(folder, Date.now())
    expect((await readKeys(folder)).current.key.kid).to.not.equal(current.key.kid)
    expect([retired?.key.kid, Number(retired?.endsAt) - Number(retired?.retiredAt)]).to.deep.equal([
      current.key.kid,
      UNNOTED_MS,
    ])
    expect(await tidy(folder, Number(retired?.endsAt) - 1)).to.have.length(1)
    expect(await tidy(folder, Number(retired?.endsAt))).to.have.length(0)
    expect(await readdir(folder)).to.deep.equal(['signing-2.jwk'])
  })

  it('a draft of a process that was killed is taken away, so that no private half outlives its key', async () => {
    const [old, fresh] = [await writeDraft(folder, '{}'), await writeDraft(folder, '{}')]
    const twoMinutesAgo = Date.now() / 1000 - 120
    await utimes(old, twoMinutesAgo, twoMinutesAgo)
    await tidy(folder, Date.now())
    expect((await readdir(folder)).toSorted()).to.deep.equal([basename(fresh), 'signing.jwk'])
  })

  it('a retired key has lost its private half, and is readable by its owner alone', async () => {
    await succeed(folder, 1)
    await tidy(folder, Date.now())
    const { retired } = await readKeys(folder)
    expect(retired.map(({ key }) => canSign(key))).to.deep.equal([false])
    expect(JSON.parse(await readFile(join(folder, 'signing.jwk'), 'utf8'))).to.have.all.keys(
      'kty',
      'crv',
      'x',
      'created',
    )
  })

  it('a key outlasts the longest token that it signed, however many were noted at once', async () => {
    const { kid } = (await readKeys(folder)).current.key
    const end = Date.now() + 30 * 86_400_000
    await Promise.all(Array.from({ length: 20 }, (_, i) => noteTokenEnd(folder, kid, end - i * 1000)))
    await succeed(folder, 1)
    expect((await tidy(folder, Date.now())).map(({ endsAt }) => endsAt)).to.deep.equal([end])
    // Noted by a command that had read the key before it was rotated.
    await noteTokenEnd(folder, kid, end + 5000)
    expect((await readKeys(folder)).retired[0]?.endsAt).to.equal(end + 5000)
  })

  it('of rotations at the same time one makes the key, and none is lost', async () => {
    const made = await Promise.all(Array.from({ length: 12 }, () => succeed(folder, 1)))
    expect(made.filter(Boolean)).to.have.length(1)
    expect((await readdir(folder)).toSorted()).to.deep.equal(['signing-2.jwk', 'signing.jwk'])
  })

  it('a broken or public file at the head is refused, with its name', async () => {
    await writeFile(join(folder, 'signing-2.jwk'), '{', { mode: 0o600 })
    await openEmbeddedKey(data).then(
      () => expect.fail('it was read'),
      (error) => expect(String(error)).to.contain('signing-2.jwk is not an Ed25519 key'),
    )
    await rm(join(folder, 'signing-2.jwk'))
    await writeFile(join(folder, 'signing-2.jwk'), '{}', { mode: 0o644 })
    await openEmbeddedKey(data).then(
      () => expect.fail('it was read'),
      (error) => expect(String(error)).to.contain('others can read the signing key'),
    )
  })

  it('a rotation that is killed at any moment leaves a key that signs, and every older one', async () => {
    const kids = new Set([(await readKeys(folder)).current.key.kid])
    for (let i = 0; i < 8; i++) {
      await killAfter(data, 250 + i * 60)
      const { current, retired } = await readKeys(folder)
      kids.add(current.key.kid)
      expect(new Set([...retired, current].map(({ key }) => key.kid))).to.deep.equal(kids)
    }
  })
})

describe('a key ring', () => {
  let data: string
  let ring: KeyRing
  const told: unknown[] = []

  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'sallyport-ring-'))
    ring = await openKeyRing(new KeysInFolder(await openKeyFolder(data)), (error) => told.push(error))
    told.length = 0
  })
  afterEach(async () => {
    await ring.close()
    await removeFolder(data)
  })

  it('keeps its keys and tells, once, when a file can not be read; and takes it once it can', async () => {
    const { kid } = ring.signer()
    const file = join(await openKeyFolder(data), 'signing-2.jwk')
    await writeFile(file, '{', { mode: 0o600 })
    await until(() => told.length > 0)
    await sleep(1100)
    expect([ring.signer().kid, told.length, String(told[0])]).to.deep.equal([
      kid,
      1,
      `KeyError: the signing key ${file} is not an Ed25519 key; restore it, or delete it to get a new one`,
    ])
    await rm(file)
    await succeed(await openKeyFolder(data), 1)
    await until(() => ring.signer().kid !== kid)
  })

  it('finds a key that was made right after it looked, and no made-up one', async () => {
    const find = (kid: string) => ring.find({ alg: 'EdDSA', kid }, { payload: '', signature: '' })
    const folder = await openKeyFolder(data)
    for (const after of [1, 2, 3]) {
      const madeUp = Promise.resolve(find('made up')).catch((error) => error.code)
      await succeed(folder, after)
      const { kid } = (await readKeys(folder)).current.key
      await find(kid)
      expect([ring.signer().kid, await madeUp]).to.deep.equal([kid, 'ERR_JWKS_NO_MATCHING_KEY'])
    }
  })

  it('another generation follows when a key comes or goes, and not otherwise', async () => {
    const first = ring.generation()
    const folder = await openKeyFolder(data)
    await noteTokenEnd(folder, ring.signer().kid, Date.now() + 86_400_000)
    await sleep(1100)
    expect(ring.generation()).to.equal(first)
    await succeed(folder, 1)
    await until(() => ring.generation() !== first)
    const second = ring.generation()
    await removeRetired(folder)
    await until(() => ring.generation() !== second)
  })
})

describe('a server whose keys are rotated', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(() => server.stop())

  const run = (...args: readonly string[]) => runCommand(join(server.folder, 'data'), args)
  const keys = (...args: readonly string[]) => run('keys', ...args)

  async function signIn(): Promise<string> {
    const { body } = await server.ask('POST', '/api/tokens', {
      body: { email: 'alice@example.com', password: 'sallyport-demo' },
    })
    return body.access_token
  }

  const status = async (token: string) => (await server.ask('GET', '/api/v1/notes', { token })).status
  const published = async (): Promise<readonly string[]> => {
    const { body } = await server.ask('GET', '/.well-known/jwks.json')
    return body.keys.map(({ kid }: JWK) => kid)
  }

  it('signs with the new key within a second, publishes both, and old tokens stay valid', async () => {
    const before = await signIn()
    expect(await status(before)).to.equal(200)
    expect((await keys('rotate')).code).to.equal(0)
    await until(async () => (await published()).length === 2)
    const after = await signIn()
    expect(decodeProtectedHeader(after).kid).to.equal((await published())[0])
    expect(decodeProtectedHeader(after).kid).to.not.equal(decodeProtectedHeader(before).kid)
    expect([await status(before), await status(after)]).to.deep.equal([200, 200])
  })

  it('a token of a key that another process made just now is accepted at once', async () => {
    await keys('rotate')
    const { code, stdout } = await run('token', '--subject', 'alice', '--role', 'member')
    expect([code, await status(stdout.trim())]).to.deep.equal([0, 200])
  })

  it('after a rotation at once no token of the older keys is accepted, remembered or not', async () => {
    const token = await signIn()
    expect(await status(token)).to.equal(200)
    const { stdout } = await keys('rotate', '--at-once')
    expect(stdout).to.match(/is removed; the server refuses its tokens/)
    await until(async () => (await status(token)) === 401)
    expect(await published()).to.have.length(1)
    expect(await status(await signIn())).to.equal(200)
  })

  it('in a folder without keys nothing is made, because a rotation there would only seem to be one', async () => {
    for (const command of [['list'], ['rotate'], ['rotate', '--at-once']]) {
      const { code, stderr } = await runCommand(join(server.folder, 'elsewhere'), ['keys', ...command])
      expect([code, stderr]).to.deep.equal([
        2,
        `sallyport: there is no signing key in \`${server.folder}/elsewhere/keys\`; start the server once, or set DATA_DIR to its data folder: run \`npm run -s sallyport -- serve\`\n`,
      ])
    }
    expect(existsSync(join(server.folder, 'elsewhere'))).to.equal(false)
  })

  it('keys list tells them in the form that its schema says', async () => {
    await keys('rotate')
    const [json, text] = [await keys('list', '--format', 'json'), await keys('list')]
    const validate = new Ajv2020({ formats: { 'date-time': true } }).compile(JSON.parse(await readFile(SCHEMA, 'utf8')))
    const listed = JSON.parse(json.stdout)
    expect(validate(listed), JSON.stringify(validate.errors)).to.equal(true)
    expect(listed.keys.map(({ state }: { state: string }) => state)).to.deep.equal(['signs', 'verifies'])
    expect(text.stdout).to.match(/^\S{43} {2}signs +made \S+\n\S{43} {2}verifies +made \S+, until \S+\n$/)
  })
})

async function killAfter(data: string, milliseconds: number): Promise<void> {
  const program = new URL('../../bin/sallyport.js', import.meta.url).pathname
  const child = spawn(process.execPath, [program, 'keys', 'rotate'], {
    env: { ...process.env, DATA_DIR: data },
    stdio: 'ignore',
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const timer = setTimeout(() => child.kill('SIGKILL'), milliseconds)
  await ended
  clearTimeout(timer)
}
