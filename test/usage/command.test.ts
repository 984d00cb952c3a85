/** sallyport policy usage, as its users run it: on the log of a real server. */
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { ROOT, sallyport } from '../command.ts'
import { requestLines } from '../decision-log/request-lines.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { addRules } from '../policy-text.ts'
import { sarifFaults } from '../sarif.ts'
import { startTestServer } from '../server.ts'

const DAY_MS = 86_400_000

describe('sallyport policy usage', () => {
  let folder: string
  let log: string
  let policies: string
  const lineOf = async (text: string) => {
    const lines = (await readFile(join(policies, 'policy.csv'), 'utf8')).split('\n')
    return lines.findIndex((line) => line.replaceAll(' ', '').startsWith(text.replaceAll(' ', ''))) + 1
  }
  const run = (...args: readonly string[]) => sallyport(['policy', 'usage', ...args, '--policies', policies])
  const json = async (...args: readonly string[]) => {
    const { stdout, stderr } = await run(...args, '--format', 'json')
    expect(stderr).to.equal('')
    return JSON.parse(stdout)
  }
  const lineIn = async (report: { lines: { rule: string }[] }, text: string) => {
    const rule = `policy.csv:${await lineOf(text)}`
    return report.lines.find((line) => line.rule === rule) as never as Record<string, unknown> & {
      parts: { kind: string; name: string; use: string }[]
    }
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    log = join(folder, 'decisions.log')
    policies = join(folder, 'policies')
    await cp(join(ROOT, 'policies'), policies, { recursive: true })
    await addRules(
      join(policies, 'policy.csv'),
      'p, member, notes, list, owner, *, allow\np, member, notes, delete, any, *, deny\n',
    )
    const server = await startTestServer({ demo: true, env: { DECISION_LOG_FILE: log, POLICIES: policies } })
    const [sam, alice] = [await server.token('sam', 'support'), await server.token('alice', 'member')]
    const orders = await server.ask('GET', '/api/orders', { token: alice })
    const notes = await server.ask('GET', '/api/v1/notes', { token: alice })
    await server.ask('GET', '/api/orders', { token: sam })
    await server.ask('GET', `/api/orders/${orders.body.items[0].id}`, { token: sam })
    const refused = await server.ask('DELETE', `/api/v1/notes/${notes.body.items[0].id}`, { token: alice })
    expect(refused.status).to.equal(403)
    await server.ask('DELETE', '/api/users/bob', { token: alice })
    await server.stop()
  })
  after(() => removeFolder(folder))

  it('says which lines and parts requests needed, for how many people, and when last', async () => {
    const report = await json(log, '--since', '1h')
    const needed = await lineIn(report, 'p, support, orders, list|read, any')
    expect(needed).to.deep.include({ use: 'used', decided: 2, people: 1, effect: 'allow' })
    expect(Math.abs(Date.now() - Date.parse(String(needed.last)))).to.be.below(600_000)
    const own = await lineIn(report, 'p, member, orders, list|read, owner')
    expect(own.parts.map(({ kind, name, use }) => [kind, name, use])).to.deep.equal([
      ['action', 'list', 'used'],
      ['action', 'read', 'unused'],
      ['term', 'owner', 'used'],
    ])
    expect(await lineIn(report, 'p, admin, orders')).to.deep.include({ use: 'unused', decided: 0, last: null })
    expect(report.roles.find(({ role }: { role: string }) => role === 'support')).to.deep.include({
      requests: 2,
      decided: 2,
    })
  })

  it('tells lines that decide alike from unused ones, and counts a deny as needed by what it refuses', async () => {
    const report = await json(log, '--since', '1h')
    expect(await lineIn(report, 'p, member, notes, list, owner')).to.deep.include({ use: 'redundant', matched: 1 })
    expect(await lineIn(report, 'p, member, notes, delete, any')).to.deep.include({ use: 'used', decided: 1 })
    // Refused, by no line: a request of alice for users/bob needs no grant.
    expect(await lineIn(report, 'p, admin, users, list')).to.deep.include({ use: 'unused' })
  })

  it('calls nothing unused where the logs show too little, and says what is missing', async () => {
    const all = await json(log)
    expect(all.coverage.share).to.be.below(0.02)
    expect(all.coverage.gaps).to.have.length(1)
    expect(await lineIn(all, 'p, admin, orders')).to.deep.include({ use: 'undecided' })
    expect(all.stale).to.deep.equal([])
    expect((await json(log, '--max-silence', '100d')).coverage.share).to.equal(1)

    const older = join(folder, 'kept.log')
    await cp(log, older)
    await cp(log, `${older}.1`)
    const text = (await run(older, '--since', '1h')).stdout
    expect(text).to.contain(`\`${older}.1\` isn't among the named files`)
    expect((await json(older, `${older}.1`, '--since', '1h')).coverage.notNamed).to.deep.equal([])

    const torn = join(folder, 'torn.log')
    await writeFile(torn, `${await readFile(log, 'utf8')}{"record":"decision","time\n`)
    expect((await json(torn, '--since', '1h')).coverage).to.deep.include({ damaged: 1 })

    const tail = join(folder, 'tail.log')
    await writeFile(tail, `ion":"list","status":200}\nno record, nor a part of one\n${await readFile(log, 'utf8')}`)
    expect((await json(tail, '--since', '1h')).coverage).to.deep.include({ damaged: 1 })

    const empty = join(folder, 'empty.log')
    await writeFile(empty, '')
    const nothing = await json(empty, '--since', '1h')
    expect(nothing.coverage.share, 'a time shorter than a silence').to.equal(0)
    expect(nothing.lines.map(({ use }: { use: string }) => use)).to.not.include('unused')

    const masked = join(folder, 'masked.log')
    const records = (await readFile(log, 'utf8')).replaceAll(/"subject":"alice"/g, '"subject":"***"')
    await writeFile(masked, records)
    const line = await lineIn(await json(masked, '--since', '1h'), 'p, admin, orders')
    expect(line.use).to.equal('undecided')
    expect(String(line.why)).to.contain("the record doesn't hold the subject")
    const untouched = await lineIn(await json(masked, '--since', '1h'), 'p, auditor, accounts')
    expect(untouched.use, 'no masked request is about accounts').to.equal('unused')
  })

  it('fails for grants that nobody needed for long enough, never for denies, and gives SARIF', async () => {
    const args = [log, '--since', '1h', '--fail-on', 'unused=1h'] as const
    const { code, stdout } = await run(...args, '--format', 'sarif')
    expect(code).to.equal(1)
    const sarif = JSON.parse(stdout)
    expect(sarifFaults(sarif)).to.deep.equal([])
    const results: { ruleId: string; locations: { physicalLocation: { region: { startLine: number } } }[] }[] =
      sarif.runs[0].results
    const lines = results.map(({ ruleId, locations }) => `${ruleId} ${locations[0]?.physicalLocation.region.startLine}`)
    expect(lines).to.include(`unused-line ${await lineOf('p, admin, orders')}`)
    expect(lines).to.include(`unused-action ${await lineOf('p, member, orders, list|read, owner')}`)
    expect(lines).to.not.include(`unused-line ${await lineOf('p, auditor, *, create')}`)
    expect((await run(log, '--since', '2h', '--fail-on', 'unused=2h', '--max-silence', '1m')).code).to.equal(0)
    const old = await run(
      log,
      '--since',
      '1h',
      '--until',
      '2099-01-01',
      '--fail-on',
      'unused=1d',
      '--max-silence',
      '99999d',
    )
    expect(old.code, 'even what was used is old by then').to.equal(1)
    const keep = join(folder, 'keep.yaml')
    const kept = (await readFile(join(policies, 'policy.csv'), 'utf8')).split('\n')[
      (await lineOf('p, admin, orders')) - 1
    ]
    await writeFile(keep, `- { line: "${kept}", reason: a, owner: b }\n`)
    const others = JSON.parse((await run(...args, '--format', 'json', '--keep', keep)).stdout)
    expect(others.stale).to.have.length(results.length - 1)
    const short = await run(log, '--since', '1h', '--fail-on', 'unused=180d')
    expect(short.code).to.equal(2)
    expect(short.stderr).to.contain('write `--since 180d`')
    expect((await run(log, '--fail-on', 'used=1d')).code).to.equal(2)
  })

  it('prints JSON that fits its schema', async () => {
    const schema = JSON.parse(await readFile(join(ROOT, 'docs/schemas/policy-usage.schema.json'), 'utf8'))
    const fits = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema)
    for (const since of ['1h', '90d']) {
      const report = await json(log, '--since', since)
      expect(fits(report), JSON.stringify(fits.errors)).to.equal(true)
      expect(fits({ ...report, lines: [{}] })).to.equal(false)
    }
  })

  it('prints a page that says what the text says', async () => {
    const [text, page] = [await run(log, '--since', '1h'), await run(log, '--since', '1h', '--format', 'html')]
    expect([text.code, page.code]).to.deep.equal([0, 0])
    const lines = text.stdout.split('\n').filter((line) => /^ *policy\.csv:\d+ /.test(line))
    expect(lines).to.have.length.above(5)
    const shown = page.stdout.replaceAll('&gt;', '>')
    for (const line of lines) expect(shown).to.contain(line.trim())
    expect(shown).to.contain('<h2>Nobody needed these lines')
  })

  it('counts what it decided again, and refuses what is no decision log', async () => {
    const later = new Date(Date.now() + 30 * DAY_MS).toISOString()
    const report = await json(log, '--since', '1h', '--until', later, '--max-silence', '60d')
    expect(report.decided).to.equal(6)
    expect((await run('package.json')).code).to.equal(2)
    const refused = async (...args: readonly string[]) => {
      const { code, stderr } = await run(...args)
      expect(code).to.equal(2)
      return stderr
    }
    expect(await refused(log, 'package.json'), 'beside a log too').to.equal(
      'sallyport: package.json holds no decision record: name decision logs\n',
    )
    const packed = join(folder, 'packed.log.gz')
    await writeFile(packed, gzipSync(await readFile(log)))
    expect(await refused(log, packed)).to.equal(`sallyport: ${packed} is compressed: unpack it first, as with gunzip\n`)
    expect(await refused(log, '--since', '2099-01-01')).to.contain('--since is not before --until')
    expect((await json(log, `${folder}/./decisions.log`, '--since', '1h')).decided, 'each file once').to.equal(6)
    expect((await run('nowhere.log')).stderr).to.equal('sallyport: nowhere.log is not a file: name decision logs\n')
  })

  it('says how many requests are of API keys that it does not list', async () => {
    const [line = ''] = requestLines(await readFile(log, 'utf8')).filter((one) => one.includes('"outcome":"allowed"'))
    const record = JSON.parse(line)
    const many = join(folder, 'keys.log')
    const lines = Array.from({ length: 10_003 }, (_, n) => JSON.stringify({ ...record, credential: `key ${n}` }))
    await writeFile(many, `${lines.join('\n')}\n`)
    const report = await json(many, '--since', '1h')
    expect([report.keys.length, report.otherKeys]).to.deep.equal([10_000, 3])
    expect((await run(many, '--since', '1h')).stdout).to.contain(
      'allowed requests of further API keys, which are not listed: 3',
    )
    expect((await json(log, '--since', '1h')).otherKeys).to.equal(0)
  })
})
