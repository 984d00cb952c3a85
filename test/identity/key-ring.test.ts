/** Signing keys are rotated beside a running server: old tokens stay valid until they end, or go at once when that is asked. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { decodeProtectedHeader, type JWK } from 'jose'
import { openKeys } from '../../src/identity/keys/embedded/kept-keys.ts'
import { databaseIn } from '../../src/store/open.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { runCommand } from './processes.ts'

const SCHEMA = new URL('../../docs/schemas/signing-keys-list.schema.json', import.meta.url)

describe('the embedded keys of a data folder', () => {
  it('stay, whenever a rotation is killed: one signs, and every older one verifies', async () => {
    const data = await mkdtemp(join(tmpdir(), 'sallyport-keys-'))
    const kept = await openKeys({ dataDirectory: data, database: databaseIn(data), secrets: undefined }, () => {})
    try {
      const kids = new Set([(await kept.read()).current.key.kid])
      for (let i = 0; i < 8; i++) {
        await killAfter(data, 250 + i * 60)
        const { current, retired } = await kept.read()
        kids.add(current.key.kid)
        expect(new Set([...retired, current].map(({ key }) => key.kid))).to.deep.equal(kids)
      }
    } finally {
      await kept.close()
      await removeFolder(data)
    }
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

  it('in a folder without a database nothing is made, because a rotation there would only seem to be one', async () => {
    for (const command of [['list'], ['rotate'], ['rotate', '--at-once']]) {
      const { code, stderr } = await runCommand(join(server.folder, 'elsewhere'), ['keys', ...command])
      expect([code, stderr]).to.deep.equal([
        2,
        `sallyport: there is no database \`${server.folder}/elsewhere/sallyport.db\`; start the server once, or set DATA_DIR and DATABASE_URL to its database: run \`npm run -s sallyport -- serve\`\n`,
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
