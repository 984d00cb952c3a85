/** The commands of a published policy: apply, rollback, history, block and status work on the database. */
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { holds } from '../output-shapes.ts'
import { addRules } from '../policy-text.ts'
import { type Ended, policy } from '../release/command.ts'
import type { TestServer } from '../server.ts'
import { failure } from '../store/fixture.ts'
import { until } from '../until.ts'
import { PublishedPolicies, sequenceOf } from './fixture.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('the commands of a published policy', () => {
  let published: PublishedPolicies
  beforeEach(async () => {
    published = await PublishedPolicies.make()
  })
  afterEach(() => published.remove())

  const environment = (env: Record<string, string> = {}) => ({
    ...published.environment(),
    POLICY_SIGNING_KEY: published.privateKey(),
    DATA_DIR: join(published.root, 'publisher'),
    ...env,
  })
  const run = (args: readonly string[], env: Record<string, string> = {}): Promise<Ended> =>
    policy(args, environment(env))

  const candidate = async (lines: string): Promise<string> => {
    const folder = join(published.root, 'next')
    await cp(published.folder, folder, { recursive: true })
    await addRules(join(folder, 'policy.csv'), lines)
    return folder
  }

  it('publish, show what changes, go back and list it, while a server follows', async () => {
    const first = await run(['apply', published.folder, '--to', 'database:', '--yes'], { POLICIES: 'policies' })
    expect([first.code, first.stderr]).to.deep.equal([0, ''])
    expect(first.stdout).to.match(/^There is no version in database: yet\.\n\nVersion 1, revision [0-9a-f]{16}, is pub/)
    const uncheckedBecause = 'the published policy grants more than the folder of the checker'
    const server = await published.start({}, { uncheckedBecause })
    const next = await candidate('p, anonymous, notes, list, any, *, allow\n')
    const shown = await run(['apply', next, '--dry-run'])
    expect(shown.stdout).to.contain('anonymous').and.to.contain('Nothing was changed.')
    expect((await run(['apply', next, '--yes', '--reason', 'for guests'])).stdout).to.contain('Version 2, revision ')
    await until(async () => (await server.ask('GET', '/api/v1/notes')).status === 200)
    expect((await run(['apply', next, '--yes'])).stdout).to.contain('Nothing to change: database: has these files')
    expect((await run(['block', 'user:mallory', '--reason', 'stolen laptop'])).stdout).to.contain('is blocked')
    await until(() => server.app.policy.active.blocked.has('mallory'))
    const back = await run(['rollback', '--to', 'database:', '--yes', '--reason', 'too much'], { POLICIES: 'policies' })
    expect(back.stdout).to.match(/Version 4, revision [0-9a-f]{16}, is published in database:\.\n$/)
    await until(async () => (await server.ask('GET', '/api/v1/notes')).status === 401)
    expect(server.app.policy.active.blocked.has('mallory')).to.equal(true)
    const history = await run(['history', '--format', 'json'])
    const { versions } = JSON.parse(history.stdout)
    expect(
      versions.map(({ number, kind, of, reason }: Record<string, unknown>) => [number, kind, of, reason]),
    ).to.deep.equal([
      [4, 'rolled-back', 1, 'too much'],
      [3, 'blocked', null, 'user:mallory: stolen laptop'],
      [2, 'applied', null, 'for guests'],
      [1, 'applied', null, null],
    ])
    await holds('policy-history', history.stdout)
    const other = { POLICIES: 'policies' }
    expect((await run(['rollback', '--to', 'database:2', '--yes'], other)).stdout).to.contain('Version 5, revision ')
    expect((await run(['unblock', 'user:mallory'])).stdout).to.contain('no longer blocked')
    await until(async () => (await sequenceOf(server)) === 6)
    expect(server.app.policy.active.blocked.size).to.equal(0)
  })

  it('list each process with its version, its faults and the age of what it told', async () => {
    await published.publish()
    const server = await published.start({ INSTANCE: 'node-7' })
    const status = async () => {
      const ended = await run(['status', '--format', 'json'])
      await holds('policy-status', ended.stdout)
      return { code: ended.code, ...JSON.parse(ended.stdout) }
    }
    const current = await status()
    expect([current.code, current.latest]).to.deep.equal([0, 1])
    const [row] = current.instances
    expect(row).to.include({ state: 'current', sequence: 1, revision: server.app.policy.active.revision })
    expect(row.instance).to.equal(`node-7/${process.pid}`)
    expect(row.ageSeconds).to.be.within(0, 15)
    await published.publish()
    const waited = await run(['status', '--wait', '20s', '--format', 'json'])
    expect([waited.code, JSON.parse(waited.stdout).instances[0].sequence]).to.deep.equal([0, 2])
    await published.publish('x, nothing\n')
    await until(() => server.app.policy.faults.length > 0)
    const short = await run(['status', '--wait', '1s', '--format', 'json'])
    expect([short.code, JSON.parse(short.stdout).instances[0].state]).to.deep.equal([1, 'behind'])
    let behind = await status()
    await until(async () => {
      behind = await status()
      return behind.instances[0].faults.length > 0
    })
    expect([behind.code, behind.latest]).to.deep.equal([1, 3])
    expect(behind.instances[0]).to.include({ state: 'behind', sequence: 2 })
    expect(behind.instances[0].faults.join()).to.contain('rule-kind')
    expect((await run(['status'])).stdout)
      .to.contain('behind')
      .and.to.contain('rule-kind')
    published.tamper('delete from policy_versions')
    await until(() => server.app.policy.faults.some((fault) => JSON.stringify(fault).includes('version-missing')))
    const told = () => run(['status']).then(({ code, stdout }) => [code, stdout] as const)
    let [code, text] = await told()
    await until(async () => {
      ;[code, text] = await told()
      return text.includes('no longer in the database')
    })
    expect([code, text]).to.deep.equal([1, text])
    expect(text).to.match(/^The database has no published version\.\n\nINSTANCE .*\nnode-7\/\d+ +behind +2 /)
    published.tamper('update policy_instances set at = at - 60000')
    published.tamper("insert into policy_instances values ('other', 'no state', 0)")
  })

  it('refuse to publish over a version that is not valid, unless they are told to', async () => {
    await published.publish()
    await published.block('mallory')
    published.tamper("update policy_versions set signed = signed || 'x' where number = 2")
    for (const args of [
      ['apply', await candidate('# other\n'), '--yes'],
      ['block', 'user:eve'],
      ['rollback', '--yes'],
    ]) {
      const { code, stderr } = await run(args)
      expect(code).to.equal(2)
      expect(stderr).to.contain('version 2 has no valid signature').and.to.contain('--over 2')
      expect(stderr).not.to.contain('POLICY_PUBLIC_KEYS')
    }
    const history = await run(['history'])
    expect([history.code, history.stderr]).to.deep.equal([0, 'sallyport: version 2 has no valid signature\n'])
    expect(history.stdout).to.match(/^\* {4}1 /)
    const folder = await candidate('# other\n')
    await writeFile(join(folder, 'blocked.txt'), 'user:mallory\n')
    expect((await run(['apply', folder, '--yes', '--over', '1'])).code).to.equal(2)
    expect((await run(['apply', folder, '--yes', '--over', '2'])).stdout).to.contain('Version 3, revision ')
    const server = await published.start()
    expect(server.app.policy.active.blocked.has('mallory')).to.equal(true)
  })

  it('refuse to publish where versions were deleted that an instance has: their blocks would be lost', async () => {
    await published.publish()
    await published.block('mallory')
    const server = await published.start({ INSTANCE: 'node-7' })
    expect((await run(['status', '--wait', '10s'])).code).to.equal(0)
    published.tamper('delete from policy_versions where number = 2')
    const folder = await candidate('# other\n')
    for (const args of [
      ['apply', folder, '--yes'],
      ['block', 'user:eve'],
      ['unblock', 'user:mallory'],
    ]) {
      const { code, stderr } = await run(args)
      expect([args, code]).to.deep.equal([args, 2])
      expect(stderr)
        .to.match(/the instance node-7\/\d+ has version 2, but the last one in the database is 1, so nothing was done/)
        .and.to.contain('policy-sequence')
    }
    expect((await run(['history'])).stdout).to.match(/^\* {4}1 /)
    expect((await run(['apply', folder, '--yes', '--over', '1'])).stdout).to.contain('Version 2, revision ')
    published.tamper('delete from policy_versions where number = 2')
    await server.stop()
    expect((await run(['block', 'user:eve'])).code, 'no instance is left').to.equal(0)
  })

  it('publish no reason that instances would not read', async () => {
    await published.publish()
    const { code, stderr } = await run(['block', 'user:eve', '--reason', 'x'.repeat(100_000)])
    expect([code, stderr]).to.deep.equal([2, 'sallyport: the reason is too long for a version: shorten it\n'])
    expect((await run(['block', 'user:eve', '--reason', 'x'.repeat(10_000)])).code).to.equal(0)
  })

  it('advise to delete a version whose number nobody has counted to', async () => {
    await published.publish()
    // Without the bound of numbers, it would be the last one.
    published.tamper("insert into policy_versions values (9000000000000, 'x')")
    expect((await run(['block', 'user:mallory'])).code).to.equal(0)
    published.tamper("insert into policy_versions values (9000000, 'x')")
    const { code, stderr } = await run(['block', 'user:eve'])
    expect([code, stderr.includes('--over')]).to.deep.equal([2, false])
    expect(stderr).to.contain('delete the version from its table `policy_versions`')
  })

  it('advise to trust a key only where another key has signed the last version', async () => {
    await published.publish('', 'two')
    const { code, stderr } = await run(['rollback', '--yes'])
    expect(code).to.equal(2)
    expect(stderr).to.contain('if you trust its key, add the key to POLICY_PUBLIC_KEYS').and.to.contain('--over 1')
    const both = { POLICY_PUBLIC_KEYS: `${published.publicKey()},${published.publicKey('two')}` }
    published.tamper("update policy_files set content = content || '# changed'")
    const changed = await run(['rollback', '--yes'], both)
    expect(changed.stderr).to.contain('was changed after it was signed').and.to.contain('--over 1')
    expect(changed.stderr).not.to.contain('POLICY_PUBLIC_KEYS')
  })

  it('name the settings that choose the database, and DATA_DIR only where its file is meant', async () => {
    const lost = { DATABASE_URL: 'postgres://nobody:x@127.0.0.1:1/none?sslmode=disable' }
    for (const args of [['status'], ['history'], ['check', 'database:']]) {
      const { code, stderr } = await run(args, lost)
      expect([code, stderr]).to.match(/^2,sallyport: the database .* can't be used \(.*\); check DATABASE_URL\n$/)
    }
    const file = join(published.root, 'no-database')
    await writeFile(file, 'text')
    expect((await run(['status'], { DATABASE_URL: `sqlite:${file}` })).stderr).to.contain('DATA_DIR and DATABASE_URL')
  })

  it("say that the changes can't be shown when they publish over a version with a changed file", async () => {
    await published.publish()
    published.tamper("update policy_files set content = content || '# changed'")
    const { code, stdout } = await run(['apply', await candidate('# other\n'), '--yes', '--over', '1'])
    expect(code).to.equal(0)
    expect(stdout).to.match(/^The files of database: have errors, so the changes can't be shown\.\n\nVersion 2, /)
  })

  it('say what is missing: a key, a database, a version', async () => {
    const apply = ['apply', published.folder, '--yes']
    expect((await run(apply, { POLICY_SIGNING_KEY: '', POLICY_PUBLIC_KEYS: '' })).stderr).to.contain('is not set')
    expect((await run(apply, { POLICY_SIGNING_KEY: '' })).stderr).to.contain('there is no database')
    expect((await run(apply, { POLICY_SIGNING_KEY: '/nowhere' })).stderr).to.contain('no such file')
    const secret = await readFile(published.privateKey(), 'utf8')
    const { privateKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const long = rsa.export({ format: 'pem', type: 'pkcs8' }).toString().replaceAll('\n', '')
    for (const text of [long, secret, secret.split('\n')[1] ?? '', `{"d":"${secret.split('\n')[1]}"}`]) {
      const shown = text.slice(30, 70)
      for (const name of ['POLICY_SIGNING_KEY', 'POLICY_PUBLIC_KEYS']) {
        const { code, stderr } = await run(apply, { [name]: text })
        expect([code, stderr]).to.match(new RegExp(`^2,sallyport: ${name}: the file that it names can't be read`))
        expect(stderr).to.not.include(shown)
      }
    }
    expect((await run(apply, { POLICY_SIGNING_KEY: published.publicKey() })).stderr).to.contain('not a private Ed25519')
    expect((await run(['status'])).stderr).to.contain('there is no database')
    expect((await run(['history'])).stderr).to.contain('there is no database')
    expect((await run(['block', 'user:eve'])).stderr).to.contain(
      'nothing was published yet: use `sallyport policy apply DIR --to database:`',
    )
    expect((await run(['status'])).stdout).to.equal('The database has no published version.\n')
    await published.publish()
    expect((await run(apply, { POLICY_SIGNING_KEY: '' })).code).to.equal(0)
    const without = await run(['apply', await candidate('# other\n'), '--yes'], { POLICY_SIGNING_KEY: '' })
    expect([without.code, without.stderr]).to.match(/POLICY_SIGNING_KEY is not set/)
  })

  it('refuse a policy with errors, and change nothing', async () => {
    await published.publish()
    const { code, stdout } = await run(['apply', await candidate('p, nobody, nothing, read, any, *, allow\n'), '--yes'])
    expect(code).to.equal(1)
    expect(stdout).to.contain('unknown-role').and.to.contain('Nothing was changed in database:.')
  })

  it('let one of two publishers win, and tell the other', async () => {
    await published.publish()
    const [one, two] = [await published.target(), await published.target()]
    const change = async (lines: string) => ({
      content: await published.contentWith(lines),
      ...{ over: '', kind: 'applied', reason: undefined, of: undefined, now: new Date(), sameRules: false, blocks: [] },
    })
    const first = await one.put((await change('# one\n')) as Parameters<typeof one.put>[0])
    expect(first?.number).to.equal(2)
    const second = await failure(two.put((await change('# two\n')) as Parameters<typeof two.put>[0]))
    expect(String(second)).to.contain('another command has published version 2 in the meantime')
    // A block doesn't depend on the rules, so it is published on top of them.
    expect(await two.block({ id: 'eve', until: undefined, reason: undefined }, new Date())).to.equal('blocked')
    for (const target of [one, two]) await target.close()
    const server: TestServer = await published.start()
    expect(await sequenceOf(server)).to.equal(3)
    const { active } = server.app.policy
    expect([active.blocked.has('eve'), active.revision !== first?.revision]).to.deep.equal([true, true])
  })

  it('know the roles of the published policy when a key is added', async () => {
    await published.publish()
    const server = await published.start()
    const key = (role: string) =>
      promisify(execFile)(
        process.execPath,
        ['bin/sallyport.js', 'key', 'add', '--subject', 'robot', '--role', role, '--expires', '1h'],
        { cwd: ROOT, env: { ...process.env, ...environment({ SCHEMAS: join(server.folder, 'schemas') }) } },
      )
    expect((await key('support')).stdout).to.match(/^sp_/)
    expect(String(await failure(key('nobody')))).to.contain('nobody')
  })
})
