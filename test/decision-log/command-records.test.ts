/** Commands that change who may do what are in the decision log: when they begin, and how they end. */
import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { RECORDED } from '../../src/cli/command-records.ts'
import { readConfig } from '../../src/config/config.ts'
import { openOutbox } from '../../src/server/parts/open-store.ts'
import { sallyport } from '../command.ts'
import { startTestServer, type TestServer } from '../server.ts'
import surface from '../stability/surface.json' with { type: 'json' }
import { until } from '../until.ts'

/** They look, or write files that a server doesn't read. */
const OTHERS = [
  ...['access compare', 'access grants', 'access of', 'access report', 'access verify-review', 'access who'],
  ...['add resource', 'add service', 'backup verify', 'ci github', 'ci staged', 'client', 'completion'],
  'data check',
  ...['decisions prove', 'decisions query', 'decisions tail', 'decisions verify', 'decisions verify-proof', 'doctor'],
  ...['eject', 'events list', 'evidence verify', 'init', 'key list', 'lsp'],
  ...['matrix attack', 'matrix coverage', 'matrix find', 'matrix init'],
  ...['matrix mutate', 'matrix show', 'matrix test', 'openapi', 'policy check', 'policy diff', 'policy explain'],
  ...['policy export', 'policy history', 'policy matrix', 'policy names', 'policy proposals', 'policy replay'],
  ...['policy review', 'policy status', 'policy suggest-guarantees', 'policy trim', 'policy usage', 'schema check'],
  ...['schema diff', 'serve', 'signing-keys list', 'upgrade', 'user list'],
]

describe('the records of commands', () => {
  let server: TestServer
  let env: Record<string, string>

  before(async () => {
    server = await startTestServer({ demo: true })
    const inside = (name: string) => join(server.folder, name)
    env = { DATA_DIR: inside('data'), POLICIES: inside('policies'), SCHEMAS: inside('schemas'), INSTANCE: 'desk' }
  })
  after(() => server.stop())

  it('are made by each command that is not known to change nothing', () => {
    const names = Object.keys(surface.members)
      .flatMap((key) => /^command (?<name>[a-z][a-z-]*(?: [a-z][a-z-]*)?)$/.exec(key)?.groups?.name ?? [])
      .filter((name, _, all) => name === 'backup' || !all.some((other) => other.startsWith(`${name} `)))
    expect(names.filter((name) => !RECORDED.has(name) && !OTHERS.includes(name))).to.deep.equal([])
    expect([...RECORDED, ...OTHERS].filter((name) => !names.includes(name))).to.deep.equal([])
    expect(OTHERS.filter((name) => RECORDED.has(name))).to.deep.equal([])
  })

  it('say who did what when it begins, and that it is done', async () => {
    const { code, stderr } = await sallyport(['user', 'disable', 'bob'], { env })
    expect(code, stderr).to.equal(0)
    const [begun, done] = await recordsOf('user disable', 2)
    const person = { subject: `os:${userInfo().username}`, instance: 'desk', method: 'COMMAND', arguments: ['bob'] }
    expect(begun).to.deep.include({ ...person, status: 202, outcome: 'allowed' })
    expect(done).to.deep.include({ ...person, status: 200, outcome: 'allowed', requestId: begun?.requestId })
    expect(begun?.sealed).to.match(/^[\w-]{32}$/)
    const { stdout } = await sallyport(['decisions', 'query', '--action', 'user disable'], { env })
    expect(stdout).to.match(/ 202 {2}allowed {2}COMMAND {2}user disable bob {2}os:\S+ {2}[\w-]+\n/)
  })

  it('name who became root by sudo, and believe nobody else', async () => {
    const { uid, username } = userInfo()
    await sallyport(['user', 'enable', 'bob'], { env: { ...env, SUDO_USER: 'zoe' } })
    await sallyport(['user', 'enable', 'bob'], { env: { ...env, SUDO_USER: 'zoe x' } })
    const [begun, , other] = await recordsOf('user enable', 4)
    expect(begun?.subject).to.equal(uid === 0 ? `os:zoe/${username}` : `os:${username}`)
    expect(other?.subject).to.equal(`os:${username}`)
  })

  it('have no password of a URL, also of a command that is refused for it', async () => {
    const url = 'postgres://app:hunter2pw@127.0.0.1:1/none?password=hunter3pw'
    for (const named of [['--database', url], [`--database=${url}`]]) {
      const asked = ['data', 'export', '--as', 'alice', '--resource', 'notes', ...named]
      expect((await sallyport(asked, { env })).code).to.equal(2)
    }
    await sallyport(['key', 'revoke', url], { env })
    await recordsOf('key revoke', 2)
    expect(JSON.stringify(await server.decisions())).not.to.match(/hunter[23]pw/)
  })

  it('have no key that is typed, and a mark where something is left out', async () => {
    const key = 'key -----BEGIN PRIVATE KEY-----\nshort\nAAAA\n-----END PRIVATE KEY-----'
    const long = 'a b '.repeat(100)
    await sallyport(['key', 'revoke', key], { env })
    await sallyport(['key', 'revoke', '{"kty":"OKP","d":"secret-part"}'], { env })
    await sallyport(['key', 'revoke', long], { env })
    const all = await recordsOf('key revoke', 8)
    const typed = all.filter(({ status }) => status === 202).map((one) => one.arguments)
    expect(typed.slice(1)).to.deep.equal([['key …'], ['…'], [`${long.slice(0, 256)}…`]])
  })

  it('of a rehearsal are not made', async () => {
    const before = (await server.decisions()).length
    await sallyport(['decisions', 'erase', '--subject', 'nobody', '--dry-run'], { env })
    expect((await server.decisions()).length).to.equal(before)
  })

  it('do not name the person that is forgotten, and are erased with it', async () => {
    await sallyport(['token', '--subject=carol', '--role', 'member'], { env })
    await recordsOf('token', 2)
    const log = join(server.folder, 'data/decisions.log')
    expect(await readFile(log, 'utf8')).to.contain('carol')
    const { code, stderr } = await sallyport(['decisions', 'erase', '--subject', 'carol'], { env })
    expect(code, stderr).to.equal(0)
    await recordsOf('decisions erase', 2)
    expect(await readFile(log, 'utf8')).not.to.contain('carol')
  })

  it('are in the database that the command names', async () => {
    const named = ['--database', `sqlite:${join(server.folder, 'data/sallyport.db')}`]
    const asked = ['data', 'export', '--as', 'alice', '--resource', 'notes', ...named]
    const { code, stderr } = await sallyport(asked, { env: { ...env, DATA_DIR: join(server.folder, 'elsewhere') } })
    expect(code, stderr).to.equal(0)
    expect((await recordsOf('data export', 2)).map(({ status }) => status)).to.deep.equal([202, 200])
  })

  it('say that a command failed', async () => {
    const { code } = await sallyport(['user', 'roles', 'nobody-here', '--none'], { env })
    expect(code).to.equal(2)
    const records = await recordsOf('user roles', 2)
    const end = { status: 500, outcome: 'failed', arguments: ['nobody-here', '--none'] }
    expect(records.at(-1)).to.deep.include(end)
  })

  it('are not made of a command line that does not run, nor of commands that look', async () => {
    const before = (await server.decisions()).length
    await sallyport(['user', 'roles', 'bob', '--secret', 'hunter2'], { env })
    await sallyport(['user', 'list'], { env })
    await sallyport(['user', 'roles', 'bob', '--role', 'member'], { env })
    await until(async () =>
      (await server.decisions()).some(({ action, status }) => action === 'user roles' && status !== 202),
    )
    const made = (await server.decisions()).slice(before)
    expect(JSON.stringify(made)).not.to.contain('hunter2')
    expect(made.map(({ action }) => action)).to.deep.equal(['user roles', 'user roles'])
  })

  it('are undone with the database where there is none, and the command says why it can not', async () => {
    const { code, stderr } = await sallyport(['user', 'disable', 'bob'], {
      env: { ...env, DATABASE_URL: `sqlite:${server.folder}/none.db` },
    })
    expect(code).to.equal(2)
    expect(stderr.trim().split('\n').length).to.equal(1)
  })

  it('are in what a restore has made', async () => {
    const [archive, into] = [join(server.folder, 'monday.tar'), join(server.folder, 'restored')]
    expect((await sallyport(['backup', archive], { env })).code).to.equal(0)
    const { code, stderr } = await sallyport(['restore', archive, into], { env })
    expect([code, stderr]).to.deep.equal([0, ''])
    const { outbox, close } = await openOutbox(readConfig({ DATA_DIR: join(into, 'data') }))
    const waiting = (await outbox.waiting(10)).map(({ record }) => JSON.parse(record))
    await close()
    const restored = { method: 'COMMAND', action: 'restore', status: 200, arguments: [archive, into] }
    expect(waiting.at(-1)).to.deep.include(restored)
  })

  async function recordsOf(name: string, count: number): Promise<readonly Record<string, unknown>[]> {
    const found = async () => (await server.decisions()).filter(({ action }) => action === name)
    await until(async () => (await found()).length === count)
    return found()
  }
})
