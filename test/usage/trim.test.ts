/** sallyport policy trim, as its users run it: on the log of a real server. */
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { FileError } from '../../src/base/diagnostic.ts'
import { isProven } from '../../src/tools/usage/formats.ts'
import { readKeep } from '../../src/tools/usage/keep.ts'
import { ROOT, sallyport } from '../command.ts'
import { requestLines } from '../decision-log/request-lines.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { addRules } from '../policy-text.ts'
import { startTestServer } from '../server.ts'

const TWICE = 'p, support, accounts, update, owner, *, allow'
const NARROW = 'p, support, notes, list|read|delete, any, *, allow'
const YEARLY = 'p, support, accounts, create, any, *, allow'

const refused = (out: string) => `sallyport: ${out} can't be written`
const FIX = ', and nothing was changed: name another directory, or fix it\n'

describe('sallyport policy trim', () => {
  let folder: string
  let log: string
  let policies: string
  let none: string
  let outs = 0

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    log = join(folder, 'decisions.log')
    policies = join(folder, 'policies')
    none = join(folder, 'no-matrices')
    await mkdir(none)
    await cp(join(ROOT, 'policies'), policies, { recursive: true })
    await writeFile(join(policies, 'guarantees.yaml'), '[]\n')
    await addRules(join(policies, 'policy.csv'), `# check-ignore duplicate-rule: a test\n${NARROW}\n${YEARLY}\n`)
    const server = await startTestServer({ demo: true, env: { DECISION_LOG_FILE: log, POLICIES: policies } })
    const [sam, alice] = [await server.token('sam', 'support'), await server.token('alice', 'member')]
    const notes = await server.ask('GET', '/api/v1/notes', { token: alice })
    await server.ask('GET', '/api/v1/notes', { token: sam })
    await server.ask('GET', `/api/v1/notes/${notes.body.items[0].id}`, { token: sam })
    await server.ask('GET', '/api/orders', { token: alice })
    await server.stop()
  })
  after(() => removeFolder(folder))

  const newOut = () => join(folder, `out-${outs++}`)
  const run = (out: string, ...args: readonly string[]) => {
    const all = [log, '--since', '1h', '--policies', policies, '--matrices', none, '--out', out, ...args]
    return sallyport(['policy', 'trim', ...all])
  }
  const csv = (out: string) => readFile(join(out, 'policy.csv'), 'utf8')

  it('writes a policy without what no request needed, with the evidence, and proves it', async () => {
    const out = newOut()
    const { code, stdout, stderr } = await run(out)
    expect([code, stderr]).to.deep.equal([0, ''])
    expect(stdout).to.contain('is proven').and.to.contain('0 answered otherwise').and.to.contain(', 0 widening')
    const text = await csv(out)
    expect(text).to.match(
      /# removed: no request needed it from \S+ to \S+ \(\d+ requests\)\n# p, support, accounts, create/,
    )
    expect(text).to.match(
      /# narrowed by action delete: [^\n]+\n# check-ignore [^\n]+\np, support, notes, list\|read, any, \*, allow/,
    )
    expect(text).to.match(/\np, auditor, \*,\s+create\|replace\|update\|delete, any, \*, deny\n/)
    const again = await sallyport(['policy', 'replay', log, '--policies', policies, '--candidate', out])
    expect(again.code, again.stdout).to.equal(0)
    expect((await sallyport(['policy', 'diff', policies, out, '--fail-on', 'widening'])).code).to.equal(0)
    expect((await sallyport(['policy', 'diff', policies, out, '--fail-on', 'narrowing'])).code).to.equal(1)
  })

  it('keeps what --keep names, and says who answers for it', async () => {
    const [out, keep] = [newOut(), join(folder, 'keep.yaml')]
    await writeFile(keep, `- line: ${YEARLY.replaceAll(', ', ',')}\n  reason: once a year\n  owner: finance\n`)
    const { code, stdout } = await run(out, '--keep', keep)
    expect(code).to.equal(0)
    expect(stdout).to.contain('kept by finance: once a year')
    expect(await csv(out)).to.contain(`\n${YEARLY}\n`)
  })

  it('finds a kept line whose cells are quoted, however it is spaced', async () => {
    const keep = join(folder, 'quoted.yaml')
    await writeFile(keep, `- { line: 'p,"user:a,b",  orders, read, any, *, allow', reason: once, owner: finance }\n`)
    const rules = (subject: string) => ({ name: 'policy.csv', text: `p, "${subject}", orders, read, any, *, allow\n` })
    expect([...(await readKeep(keep, rules('user:a,b'))).keys()]).to.deep.equal([1])
    const other = await readKeep(keep, rules('user:a, b')).catch((error: unknown) => error)
    expect(other).to.be.instanceOf(FileError)
  })

  it('refuses a file of --keep with a mistake, with its place and a suggestion', async () => {
    const keep = join(folder, 'wrong.yaml')
    for (const [text, message] of [
      [
        `- line: ${YEARLY.replace('accounts', 'acounts')}\n  reason: a\n  owner: b\n`,
        /wrong\.yaml:1:3: .*no line.*did you mean `p, support, accounts/,
      ],
      [`- line: ${YEARLY}\n  reason: a\n`, /wrong\.yaml:1:3: .*owner/],
      [`- line: ${YEARLY}\n  reason: a\n  owner: b\n  until: never\n`, /wrong\.yaml:4:\d+: .*until/],
      [`- &a\n  line: ${YEARLY}\n  reason: a\n  owner: b\n- *a\n`, /wrong\.yaml:\d+:\d+: .*alias/],
      [
        `- {line: "${YEARLY}", reason: a, owner: b}\n- {line: "${YEARLY}", reason: a, owner: c}\n`,
        /wrong\.yaml:2:4: .*kept already/,
      ],
    ] as const) {
      await writeFile(keep, text)
      const { code, stdout, stderr } = await run(newOut(), '--keep', keep)
      expect([code, stdout]).to.deep.equal([2, ''])
      expect(stderr).to.match(message)
    }
    expect((await run(newOut(), '--keep', join(folder, 'no.yaml'))).stderr).to.contain("can't be read")
  })

  it('keeps one of two grants that are needed together', async () => {
    const twice = join(folder, 'twice')
    await cp(policies, twice, { recursive: true })
    await addRules(join(twice, 'policy.csv'), `${TWICE}\n${TWICE}\n`)
    const ownership = join(twice, 'ownership.yaml')
    const concealed = (await readFile(ownership, 'utf8')).replace(/^accounts:$/m, 'accounts:\n  conceal: true')
    await writeFile(ownership, concealed)
    const server = await startTestServer({
      demo: true,
      env: { DECISION_LOG_FILE: join(folder, 'twice.log'), POLICIES: twice },
    })
    const accounts = await server.ask('GET', '/api/accounts', { token: await server.token('ada', 'admin') })
    const path = `/api/accounts/${accounts.body.items[0].id}`
    const { status } = await server.ask('PATCH', path, {
      token: await server.token('sam', 'support'),
      body: { name: 'n' },
    })
    expect(status).to.equal(404)
    await server.stop()
    const out = newOut()
    const args = ['--since', '1h', '--policies', twice, '--matrices', none, '--out', out]
    const { stdout } = await sallyport(['policy', 'trim', join(folder, 'twice.log'), ...args])
    expect(stdout).to.match(/a request like \S+ would be answered 403 forbidden, not 404 object-not-found/)
    expect((await csv(out)).split('\n').filter((line) => line === TWICE)).to.have.length(1)
    expect(stdout).to.contain('is proven')
  })

  it('keeps what a matrix expects or a guarantee needs, and names it', async () => {
    const matrices = join(folder, 'matrices')
    await mkdir(matrices)
    await cp(join(ROOT, 'test/matrix/orders.csv'), join(matrices, 'orders.csv'))
    const guarded = join(folder, 'guarded')
    await cp(policies, guarded, { recursive: true })
    const always =
      '- name: support lists accounts\n  always: { subjects: [support], resource: accounts, actions: [list] }\n'
    await writeFile(join(guarded, 'guarantees.yaml'), always)
    await addRules(join(guarded, 'policy.csv'), 'p, support, accounts, list, any, *, allow\n')
    const out = newOut()
    const args = ['--since', '1h', '--policies', guarded, '--matrices', matrices, '--out', out, '--format', 'json']
    const { stdout, stderr } = await sallyport(['policy', 'trim', log, ...args])
    expect(stderr).to.equal('')
    const report = JSON.parse(stdout)
    const why = report.stay.map((one: { why: string }) => one.why).join('\n')
    expect(why).to.match(/orders\.csv:\d+:\d+ expects it/)
    expect(why).to.contain('the guarantee `support lists accounts` needs it')
    expect(report.proof).to.deep.include({ unmet: 0, errors: 0, widening: 0, different: 0 })
    expect(report.proof.expectations).to.be.above(100)
    const schema = JSON.parse(await readFile(join(ROOT, 'docs/schemas/policy-trim.schema.json'), 'utf8'))
    const fits = new Ajv2020({ strict: true }).compile(schema)
    expect(fits(report), JSON.stringify(fits.errors)).to.equal(true)
    expect(fits({ ...report, proof: {} })).to.equal(false)
  })

  it('removes nothing that the logs can not show, and overwrites no folder', async () => {
    const out = newOut()
    const { stdout } = await run(out, '--since', '90d')
    expect(stdout).to.contain('Nothing was removed.').and.to.contain('the logs do not show everything')
    expect(await csv(out)).to.equal(await csv(policies))
    const { code, stderr } = await run(out)
    expect([code, stderr]).to.deep.equal([2, `sallyport: ${out} isn't empty: name a new folder\n`])
    const nameless = await run('')
    expect([nameless.code, nameless.stderr]).to.deep.equal([
      2,
      "sallyport: the working directory isn't empty: name a new folder\n",
    ])
  })

  it('says before it reads the logs that a folder can not be made', async () => {
    const file = join(folder, 'a-file')
    await writeFile(file, 'mine')
    const junk = join(folder, 'junk.log')
    await writeFile(junk, 'no record\n')
    for (const out of [file, join(file, 'below')]) {
      const { code, stderr } = await sallyport(['policy', 'trim', junk, '--policies', policies, '--out', out])
      expect([code, stderr]).to.deep.equal([2, `${refused(out)} (a file is in its place)${FIX}`])
    }
    // /proc looks like a folder in which folders can be made.
    const proc = '/proc/sallyport'
    const { code, stderr } = await sallyport(['policy', 'trim', junk, '--policies', policies, '--out', proc])
    if (process.platform === 'linux')
      expect([code, stderr]).to.deep.equal([2, `${refused(proc)} (no such file or directory)${FIX}`])
    expect(await readFile(file, 'utf8')).to.equal('mine')
  })

  it('counts the requests that it could not decide again', async () => {
    const masked = join(folder, 'masked.log')
    const lines = requestLines(await readFile(log, 'utf8'))
    const at = lines.findIndex((line) => line.includes('"outcome":"allowed"'))
    const record = { ...JSON.parse(lines[at] ?? ''), subject: '***' }
    await writeFile(masked, lines.with(at, JSON.stringify(record)).join('\n'))
    const args = ['--since', '1h', '--policies', policies, '--matrices', none]
    const { stdout } = await sallyport(['policy', 'trim', masked, ...args, '--out', newOut()])
    expect(stdout).to.match(/^ *replay: \d+ requests, 0 answered otherwise; 1 more can't be decided again$/m)
    const whole = await sallyport(['policy', 'trim', log, ...args, '--out', newOut()])
    expect(whole.stdout).to.match(/^ *replay: \d+ requests, 0 answered otherwise$/m)
  })

  it('is proven only without any difference, error, missed expectation and widening', () => {
    const proof = {
      replayed: 1,
      different: 0,
      notReplayed: 0,
      errors: 0,
      expectations: 1,
      unmet: 0,
      narrowing: 3,
      widening: 0,
    }
    expect(isProven(proof)).to.equal(true)
    for (const fault of ['different', 'errors', 'unmet', 'widening'])
      expect(isProven({ ...proof, [fault]: 1 })).to.equal(false)
  })
})
