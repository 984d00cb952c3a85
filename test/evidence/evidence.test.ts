/** Evidence of a period proves itself: each byte, each record by its log's tree, and each decision by deciding it again. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { folderPolicies } from '../../src/tools/evidence/kept-policies.ts'
import { readPeriod } from '../../src/tools/evidence/period.ts'
import { ToolError } from '../../src/tools/load-policy.ts'
import { type Ended, sallyport, startSallyport } from '../command.ts'
import { requestLines } from '../decision-log/request-lines.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { holds } from '../output-shapes.ts'
import { withRules } from '../policy-text.ts'
import { PublishedPolicies } from '../published/fixture.ts'
import { runs } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { membersOf, packed, unpacked } from './archives.ts'

const PERIOD = new Date().toISOString().slice(0, 4)
const DAYS = `(${PERIOD}-01-01 to ${PERIOD}-12-31)`
const FOR_GUESTS = 'p, anonymous, notes, list, any, *, allow\n'
const LOG = 'log/1/decisions.log'

describe('evidence of a period', () => {
  let folder: string
  let published: PublishedPolicies
  let env: Record<string, string>
  let file: string
  /** The log and its tree as they were at an earlier moment. */
  let earlier: string
  let key: string
  /** A checkpoint of the moment before the export. */
  let kept: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    published = await PublishedPolicies.make()
    await published.publish()
    const server = await published.start({}, { demo: true })
    const data = join(server.folder, 'data')
    const log = join(data, 'decisions.log')
    await askAll(server)
    await signedAll(log)
    earlier = join(folder, 'earlier')
    await mkdir(earlier)
    await cp(log, join(earlier, 'decisions.log'))
    await cp(`${log}.tree`, join(earlier, 'tree'), { recursive: true })
    await published.publish(FOR_GUESTS)
    await until(async () => (await server.ask('GET', '/api/v1/notes')).status === 200)
    await askAll(server)
    await signedAll(log)
    env = published.environment({ DATA_DIR: data, SCHEMAS: join(server.folder, 'schemas') })
    file = join(folder, 'evidence')
    kept = join(folder, 'kept-checkpoint')
    await cp(`${log}.tree/checkpoint`, kept)
    const { code, stdout, stderr } = await run('export', '--period', PERIOD, '--out', file, '--format', 'json')
    expect(code, stderr).to.equal(0)
    await holds('evidence-export', stdout)
    const [name] = (await readFile(`${log}.tree/checkpoint`, 'utf8')).split('\n')
    const [first = ''] = (await readFile(`${log}.tree/checkpoints`, 'utf8')).split('\n')
    ;({ key } = JSON.parse(first))
    expect(key.startsWith(`${name}+`)).to.equal(true)
  })
  after(async () => {
    await published.remove()
    await removeFolder(folder)
  })

  const run = (...args: readonly string[]) => sallyport(['evidence', ...args], { env, cwd: folder })

  /** The verdict of the evidence with these parts, which has new checksums. */
  async function verdictOf(
    change: (parts: Map<string, Buffer>) => Readonly<Record<string, string | Buffer | undefined>>,
    manifest: object = {},
    ...flags: readonly string[]
  ): Promise<Ended> {
    const found = await unpacked(file)
    for (const [name, content] of Object.entries(change(found.parts))) {
      if (content === undefined) found.parts.delete(name)
      else found.parts.set(name, Buffer.from(content))
    }
    return run('verify', await packed(found.parts, { ...found.manifest, ...manifest }, folder), ...flags)
  }

  const decisions = async () => {
    const lines = requestLines(String((await unpacked(file)).parts.get(LOG)))
    return lines.map((line) => JSON.parse(line)).filter(({ method }) => method !== 'COMMAND')
  }

  it('is one line where all decisions are as the signed policy of their moment says', async () => {
    const asked = await decisions()
    expect(new Set(asked.map(({ revision }) => revision)).size, 'versions that decided').to.equal(2)
    const { code, stdout, stderr } = await run('verify', file)
    expect([code, stdout]).to.deep.equal([0, `${asked.length} decisions, all as the signed policy says ${DAYS}\n`])
    expect(stderr).to.contain(`nobody vouches for the first key of log/1: compare ${key} with one`)
    const [name] = key.split('+')
    const flags = ['--key', key, '--checkpoint', kept, '--format', 'json']
    const vouched = await run('verify', file, ...flags)
    expect(vouched.stderr).to.match(
      /^sallyport: log\/1 \(\S+\) has from record 0 \(\S+\) to \S+; its last checkpoint has/,
    )
    expect(vouched.stderr.split('\n').slice(1), 'the year has begun before, and is not over').to.deep.equal([
      'sallyport: log/1 begins after the period does',
      'sallyport: log/1 ends before the period does',
      '',
    ])
    await holds('evidence-verify', vouched.stdout)
    const json = JSON.parse(vouched.stdout)
    expect(json).to.deep.include({ sound: true, policy: 'database', faults: [], lacks: [] })
    expect(json.logs).to.have.length(1)
    expect(json.logs[0]).to.deep.include({ part: 'log/1', log: name, key, pinned: true, compared: 1 })
    expect(json.logs[0]).to.deep.include({ beginsLate: true, endsEarly: true })
    expect(json.logs[0].first.record).to.equal(0)
  })

  it('has reports of its time, and says which are missing and why', async () => {
    const { manifest, parts } = await unpacked(file)
    const [check, history] = manifest.reports
    expect(check).to.deep.equal({ name: 'check', command: 'sallyport policy check', exitCode: 0 })
    expect(history?.exitCode).to.equal(0)
    expect(JSON.parse(String(parts.get('reports/history.json'))).versions).to.have.length(2)
    for (const { name, exitCode, why } of manifest.reports) {
      expect(parts.has(`reports/${name}.json`), name).to.equal(exitCode < 2)
      expect(why === undefined, name).to.equal(exitCode < 2)
    }
    expect([...parts.keys()].filter((name) => name.includes('key'))).to.deep.equal([])
  })

  it('shows a changed byte anywhere, in each of its members and between them', async () => {
    const bytes = await readFile(file)
    const members = membersOf(bytes)
    const { manifest } = await unpacked(file)
    expect(members.map(({ name }) => name)).to.deep.equal([
      ...manifest.parts.map(({ name }) => name),
      'manifest.json',
      '',
    ])
    const changed = join(folder, 'changed')
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...members), fc.nat(), fc.nat(7), async ({ name, begin, end }, nth, bit) => {
        const at = begin + (nth % (end - begin))
        const copy = Buffer.from(bytes)
        copy[at] = (copy[at] ?? 0) ^ (1 << bit)
        await writeFile(changed, copy)
        const { code, stderr } = await run('verify', changed)
        expect([code, stderr], `byte ${at} of ${name}`).to.deep.equal([1, ''])
      }),
      { numRuns: runs(400) },
    )
  })

  it('shows what was changed in a log or a version, also where all checksums were made anew', async () => {
    const named = String.raw`log/1 \(sallyport/\S+\): `
    const changes = [
      [LOG, '"status":401', '"status":404', `${named}decisions\\.log:\\d+: changed: `],
      [LOG, /^.*"status":401.*\n/m, '', `${named}missing: record \\d+, `],
      ['policy/history.json', 'anonymous, notes', 'member, notes', 'version 2 of the policy is not valid'],
    ] as const
    for (const [name, text, other, fault] of changes) {
      const changed = await verdictOf((parts) => ({ [name]: String(parts.get(name)).replace(text, other) }))
      expect(changed.stdout).to.match(new RegExp(`^not as it was written: ${fault}`))
      expect(changed.stdout).to.not.contain(', all as')
      expect(changed.code).to.equal(1)
    }
    // The negative control: packed again as it was.
    expect((await verdictOf(() => ({}))).code).to.equal(0)
  })

  it('says that the first records were left out, if they may be of the period', async () => {
    const withoutTwo = (parts: Map<string, Buffer>) => ({
      [LOG]: String(parts.get(LOG)).split('\n').slice(2).join('\n'),
    })
    const { code, stdout } = await verdictOf(withoutTwo)
    expect(stdout).to.match(/^not complete: log\/1 \(\S+\) begins with record 2 \(\S+\): those before it may be/)
    expect(stdout).to.not.contain(', all as')
    expect(code).to.equal(1)
    // The negative control: the third record is older than the period.
    const lines = String((await unpacked(file)).parts.get(LOG)).split('\n')
    const from = new Date(Date.parse(JSON.parse(lines[2] ?? '').time) + 1).toISOString()
    const later = await verdictOf(withoutTwo, { period: { from, until: `${Number(PERIOD) + 1}-01-01T00:00:00.000Z` } })
    expect([later.code, later.stderr.includes('begins after')], later.stdout).to.deep.equal([0, false])
  })

  it('shows that the last records were left out with their checkpoints, by one that was kept elsewhere', async () => {
    const tree = await readdir(join(earlier, 'tree'), { recursive: true, withFileTypes: true })
    const files = tree.filter((one) => one.isFile() && !one.name.endsWith('.pem') && one.name !== 'lock')
    const old = await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const path = join(parentPath, name)
        return [`log/1/${path.slice(earlier.length + 1)}`, await readFile(path)] as const
      }),
    )
    const cut = (parts: Map<string, Buffer>) => ({
      ...Object.fromEntries(
        [...parts.keys()].filter((name) => name.startsWith('log/1/')).map((name) => [name, undefined]),
      ),
      ...Object.fromEntries(old),
    })
    const log = await readFile(join(earlier, 'decisions.log'))
    const alone = await verdictOf((parts) => ({ ...cut(parts), [LOG]: log }))
    expect([alone.code, alone.stdout.includes(', all as')], 'the file alone').to.deep.equal([0, true])
    expect(alone.stderr).to.contain('whether the last records of log/1 were left out, only a kept checkpoint tells')
    const { code, stdout } = await verdictOf((parts) => ({ ...cut(parts), [LOG]: log }), {}, '--checkpoint', kept)
    expect(stdout).to.match(
      /^not as it was written: log\/1 \(\S+\): cut: \S+ signs \d+ records, and the evidence ends with \d+ .* is newer than the export/,
    )
    expect(code).to.equal(1)
    // The negative control.
    expect((await run('verify', file, '--checkpoint', kept)).code).to.equal(0)
  })

  it('decides nothing by lines that nobody has signed', async () => {
    const asked = await decisions()
    const line = JSON.stringify({ ...asked.at(-1), requestId: 'forged' })
    const { code, stdout, stderr } = await verdictOf((parts) => ({ [LOG]: `${parts.get(LOG)}${line}\n` }))
    const sum = `${asked.length + 1} decisions, ${asked.length} as the signed policy says, 1 not decided again`
    expect([code, stdout]).to.deep.equal([0, `${sum} ${DAYS}\n`])
    expect(stderr).to.contain('1 not decided again: newer than the last checkpoint of the log, so nobody has signed it')
  })

  it('is not sound without a decision, and names its period, for which nobody vouches', async () => {
    const period = { from: '2020-01-01T00:00:00.000Z', until: '2020-02-01T12:00:00.000Z' }
    const { code, stdout } = await verdictOf(() => ({}), { period })
    const days = '2020-01-01T00:00:00.000Z to 2020-02-01T11:59:59.999Z'
    expect(stdout.split('\n')).to.deep.equal([
      'not complete: no decision of the period was decided again',
      `0 decisions, 0 as the signed policy says, 0 not decided again (${days})`,
      '',
    ])
    expect(code).to.equal(1)
  })

  it('counts decisions whose policy or schema it lacks, and is not sound', async () => {
    const asked = await decisions()
    const without = await verdictOf(() => ({ 'schemas/notes.json': undefined }))
    expect(without.stdout).to.contain(`${asked.length} decisions, 0 as the signed policy says`)
    expect(without.stdout).to.match(
      /not complete: \d+ not decided again: revision \S+ can't be used with the schemas of the evidence/,
    )
    expect([without.code, without.stderr.includes('    at ')]).to.deep.equal([1, false])
    const none = await verdictOf((parts) =>
      Object.fromEntries(
        [...parts.keys()].filter((name) => name.startsWith('schemas/')).map((name) => [name, undefined]),
      ),
    )
    expect([none.code, none.stdout]).to.deep.equal([1, 'not as it was written: it has no schemas\n'])
    const broken = await verdictOf(() => ({ 'schemas/notes.json': '{' }))
    expect(broken.code).to.equal(1)
    expect(broken.stdout).to.match(/^not as it was written: the schemas can't be used: schemas\/notes.json:/)
  })

  it('names the first decision that the policy does not make', async () => {
    const server = await startTestServer({ demo: true })
    const of = (name: string) => join(server.folder, name)
    await askAll(server)
    await signedAll(of('data/decisions.log'))
    const own = { DATA_DIR: of('data'), POLICIES: 'none', SCHEMAS: 'none' }
    const out = join(folder, 'of-folder')
    const places = ['--policies', of('policies'), '--schemas', of('schemas')]
    const exported = await sallyport(['evidence', 'export', '--period', PERIOD, '--out', out, ...places], {
      env: own,
      cwd: folder,
    })
    expect(exported.code, exported.stderr).to.equal(0)
    expect(exported.stderr).to.contain(`decisions.log begins after the period does (${PERIOD}-`)
    expect(exported.stderr).to.contain('the period is not over: later records are not in it')
    const whole = await run('verify', out)
    expect(whole.stdout).to.equal(`4 decisions, all as the policy says ${DAYS}\n`)
    expect(whole.stderr).to.contain('the policy is of a folder, and nobody has signed it')
    const { manifest, parts } = await unpacked(out)
    expect(manifest.reports[0], 'of the named policy').to.deep.include({ name: 'check', exitCode: 0 })
    const verify = async (text: string) =>
      run('verify', await packed(new Map(parts).set('policy/folder.json', Buffer.from(text)), manifest, folder))
    const kept = JSON.parse(String(parts.get('policy/folder.json')))
    for (const { files } of kept.versions) files['policy.csv'] = withRules(files['policy.csv'], FOR_GUESTS)
    const { code, stdout } = await verify(JSON.stringify(kept))
    expect(stdout, stdout).to.match(
      /^4 decisions, 1 not as the policy says \([^)]+\); the first: \S+ [\w-]{36} was 401 credentials-missing, and revision [0-9a-f]{16} says allowed\n$/,
    )
    expect(code).to.equal(1)
    for (const { files } of kept.versions) files['../outside'] = 'p, anonymous, notes, list, any, *, allow\n'
    expect((await verify(JSON.stringify(kept))).stdout, 'a name that leads out is no file of a policy').to.equal(stdout)
    const blocking = (revisions: (own: readonly string[]) => readonly string[]) => {
      const versions = JSON.parse(String(parts.get('policy/folder.json'))).versions
      for (const { files } of versions) files['blocked.txt'] = 'user:alice\n'
      return verify(
        JSON.stringify({
          versions: versions.map((one: { revisions: string[] }) => ({ ...one, revisions: revisions(one.revisions) })),
        }),
      )
    }
    const later = await blocking((own) => [...own, '0123456789abcdef'])
    expect(later.stdout, 'blocked after those decisions').to.equal(whole.stdout)
    expect((await blocking((own) => own)).stdout).to.match(/ was 200, and revision \S+ says 403 blocked\n$/)
    for (const version of kept.versions) version.revisions = ['0123456789abcdef']
    const open = await verify(JSON.stringify(kept))
    expect(open.stdout).to.match(/^not complete: 4 not decided again: the evidence has no version of revision /)
    expect(open.stdout).to.contain('\nnot complete: no decision of the period was decided again\n')
    expect(open.stdout).to.contain(`\n4 decisions, 0 as the policy says, 4 not decided again ${DAYS}\n`)
    expect(open.code).to.equal(1)
    for (const text of ['{', '{"versions":[{"revisions":[],"files":{}}]}']) {
      const { code, stderr } = await verify(text)
      expect([code, stderr]).to.deep.equal([
        2,
        'sallyport: the evidence has no versions of a policy that this program can read: use the one that made it\n',
      ])
    }
    await server.stop()
  })

  it('decides questions of other services and refusals of blocked callers, and counts what it leaves', async () => {
    const server = await startTestServer({ demo: true, files: { 'policies/blocked.txt': 'user:mallory\n' } })
    const of = (name: string) => join(server.folder, name)
    const mallory = await server.ask('GET', '/api/v1/notes', { token: await server.token('mallory', 'member') })
    expect(mallory.status).to.equal(403)
    const token = await server.token('shop', 'pdp-client')
    const about = (id: string) => ({ subject: { type: 'user', id: 'bob' }, resource: { type: 'users', id } })
    const asked = { action: { name: 'read' }, evaluations: ['alice', 'bob', 'nobody'].map(about) }
    const { body } = await server.ask('POST', '/access/v1/evaluations', { token, body: asked })
    expect(body.evaluations.map((one: { decision: boolean }) => one.decision)).to.deep.equal([false, true, false])
    await server.ask('POST', '/access/v1/search/action', { token, body: about('bob') })
    await server.decisions()
    await signedAll(of('data/decisions.log'))
    const out = join(folder, 'of-questions')
    const places = ['--policies', of('policies'), '--schemas', of('schemas')]
    const own = { DATA_DIR: of('data'), POLICIES: 'none', SCHEMAS: 'none' }
    await sallyport(['evidence', 'export', '--period', PERIOD, '--out', out, ...places], { env: own, cwd: folder })
    const whole = await run('verify', out)
    const sum = '7 decisions, 6 as the policy says, 1 not decided again'
    expect([whole.code, whole.stdout], whole.stderr).to.deep.equal([0, `${sum} ${DAYS}\n`])
    expect(whole.stderr).to.contain('1 not decided again: a record holds only what a search of another service found')
    const { manifest, parts } = await unpacked(out)
    const kept = JSON.parse(String(parts.get('policy/folder.json')))
    for (const { files } of kept.versions)
      files['policy.csv'] = withRules(files['policy.csv'], 'p, member, users, read, any, *, allow')
    const text = Buffer.from(JSON.stringify(kept))
    const other = await run('verify', await packed(new Map(parts).set('policy/folder.json', text), manifest, folder))
    expect(other.stdout).to.match(
      /, 1 not as .* \S+, question 0, was false \(not-granted-here\), and revision \S+ says true\n$/,
    )
    expect(other.code).to.equal(1)
    await server.stop()
  })

  it('is of several logs, each with its own key, and has each log once', async () => {
    const { parts } = await unpacked(file)
    const again = [...parts].filter(([name]) => name.startsWith('log/1/'))
    const twice = () => Object.fromEntries(again.map(([name, bytes]) => [name.replace('log/1', 'log/2'), bytes]))
    const { code, stdout } = await verdictOf(twice, { logs: 2 })
    expect(stdout).to.match(/^not as it was written: the log sallyport\/\S+ is there twice\n/)
    expect(code).to.equal(1)
    const lost = await verdictOf(twice)
    expect([lost.code, lost.stdout]).to.deep.equal([
      1,
      `not as it was written: no log has the part \`${again[0]?.[0].replace('log/1', 'log/2')}\`\n`,
    ])
    const server = await startTestServer({ demo: true })
    await askAll(server)
    const log = join(server.folder, 'data/decisions.log')
    await signedAll(log)
    const both = join(folder, 'both')
    const own = join(env.DATA_DIR ?? '', 'decisions.log')
    const exported = await run('export', own, log, '--period', PERIOD, '--out', both)
    expect(exported.code, exported.stderr).to.equal(0)
    const other = JSON.parse((await readFile(`${log}.tree/checkpoints`, 'utf8')).split('\n')[0] ?? '').key
    const flags = ['--format', 'json', '--key', other]
    const one = JSON.parse((await run('verify', both, ...flags)).stdout)
    expect(one.logs.map(({ pinned }: { pinned: boolean }) => pinned)).to.deep.equal([false, true])
    const all = JSON.parse((await run('verify', both, ...flags, '--key', key)).stdout)
    expect(all.logs.map(({ pinned }: { pinned: boolean }) => pinned)).to.deep.equal([true, true])
    await server.stop()
    const { code: refused, stderr } = await run('verify', file, '--key', other)
    expect(stderr).to.match(/^sallyport: --key is of no log of the evidence: name what is of sallyport\/\S+\n$/)
    expect(refused).to.equal(2)
  })

  it('is refused in one sentence where it can not be made or read', async () => {
    await writeFile(join(folder, 'none.log'), '')
    await mkdir(join(folder, 'a-folder'))
    const log = join(env.DATA_DIR ?? '', 'decisions.log')
    for (const [args, message] of [
      [['export', '--period', '2026-Q5', '--out', 'x'], '--period is no period: write a year, a quarter'],
      [['export', '--period', '2026-02-30', '--out', 'x'], '--period is no day'],
      [['export', '--period', '2099', '--out', 'x'], '--period 2099 has not begun: name an earlier one'],
      [['export', '--period', PERIOD, '--out', file], 'exists already: name another file'],
      [['export', '--period', PERIOD, '--out', 'no/such/x'], 'there is no folder'],
      [['export', 'none.log', '--period', PERIOD, '--out', 'x'], 'there is no tree none.log.tree'],
      [['export', log, log, '--period', PERIOD, '--out', 'x'], 'name each log once'],
      [['export', '--period', PERIOD, '--out', 'x', '--add', 'none'], "none can't be used: no such file"],
      [['verify', 'none'], 'there is no evidence none'],
      [['verify', 'a-folder'], 'a-folder is no file: name the file of `evidence export`'],
      [['verify', file, '--key', 'word'], '--key is no key of a log'],
      [['verify', file, '--checkpoint', 'none.log'], 'none.log is of no log of the evidence: name what is of'],
      [['verify', file, '--checkpoint', 'none'], "none can't be used: no such file"],
    ] as const) {
      const { code, stdout, stderr } = await run(...args)
      expect(stderr, args.join(' ')).to.contain(message)
      expect([code, stdout, stderr.trim().split('\n').length], stderr).to.deep.equal([2, '', 1])
    }
    expect((await readdir(folder)).filter((name) => name.startsWith('.'))).to.deep.equal([])
  })

  it('is read by the holder of its key alone where it is encrypted', async () => {
    const made = await sallyport(['backup', 'key', 'key.txt'], { env, cwd: folder })
    const recipient = /age1\w+/.exec(made.stdout)?.[0] ?? ''
    const exported = await run('export', '--period', PERIOD, '--out', 'secret', '--recipient', recipient)
    expect(exported.code, exported.stderr).to.equal(0)
    expect(await readFile(join(folder, 'secret'), 'latin1')).to.not.contain('decisions.log')
    const { code, stdout } = await run('verify', 'secret', '--identity', 'key.txt')
    expect(stdout).to.match(/^\d+ decisions, all as the signed policy says /)
    expect(code).to.equal(0)
    const without = await run('verify', 'secret')
    expect([without.code, without.stderr]).to.deep.equal([
      2,
      'sallyport: the archive `secret` is encrypted; name its key file with --identity\n',
    ])
  })

  it('is refused in a sentence where a part is longer than any text', async () => {
    const tree = await verdictOf(() => ({ 'log/1/tree/checkpoints': Buffer.alloc(64 * 1024 * 1024 + 1) }))
    expect([tree.code, tree.stdout]).to.deep.equal([
      1,
      "not as it was written: it can't be read to its end (the part `log/1/tree/checkpoints` is too large)\n",
    ])
    const long = join(folder, 'long.json')
    await writeFile(long, '')
    await truncate(long, 600 * 1024 * 1024)
    const refused = await folderPolicies(long, {} as never).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(ToolError)
    await rm(long)
  })

  it('has no part whose name others need as a folder', async () => {
    const tile = () => verdictOf(() => ({ 'log/1/tree/tile': '' }))
    const { code, stdout } = await tile()
    expect([code, stdout]).to.deep.equal([
      1,
      "not as it was written: it can't be read to its end (no archive has a part `log/1/tree/tile`)\n",
    ])
  })

  it('names the disk that is full, and the setting of another one', async () => {
    const code = `
      import fs from 'node:fs'
      const full = (...args) => args.at(-1)(Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'write' }))
      fs.write = full
      fs.writev = full
    `
    const full = { ...env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
    const ended = await startSallyport(['evidence', 'verify', file], { env: full, cwd: folder })
    expect([ended.code, ended.stderr]).to.deep.equal([
      2,
      `sallyport: the disk of ${tmpdir()} is full: make room, or set TMPDIR to a folder on another disk\n`,
    ])
  })

  it('is of a year, a quarter, a month or a day in UTC', () => {
    const now = Date.parse('2030-01-01')
    const read = (name: string) =>
      Object.values(readPeriod(name, now)).map((time) => new Date(time).toISOString().slice(0, 10))
    expect(read('2026')).to.deep.equal(['2026-01-01', '2027-01-01'])
    expect(read('2026-Q4')).to.deep.equal(['2026-10-01', '2027-01-01'])
    expect(read('2026-12')).to.deep.equal(['2026-12-01', '2027-01-01'])
    expect(read('2028-02-29')).to.deep.equal(['2028-02-29', '2028-03-01'])
  })
})

/** Four requests: allowed, written, refused, and of nobody. */
async function askAll(server: TestServer): Promise<void> {
  const token = await server.token('alice', 'member')
  await server.ask('GET', '/api/v1/notes', { token })
  await server.ask('POST', '/api/v1/notes', { token, body: { title: 'Milk', body: 'two', tags: [] } })
  await server.ask('GET', '/api/users/bob', { token })
  await server.ask('GET', '/api/v1/notes')
  await server.decisions()
}

async function signedAll(log: string): Promise<void> {
  const signed = async () => Number((await readFile(`${log}.tree/checkpoint`, 'utf8').catch(() => '')).split('\n')[1])
  await until(async () => (await signed()) === (await readFile(log, 'utf8')).split('\n').length - 1)
}
