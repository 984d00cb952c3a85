/** sallyport policy replay, as its users run it: on the log of a real server. */
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { type Ended, ROOT, sallyport } from '../command.ts'
import { requestLines } from '../decision-log/request-lines.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { addRules } from '../policy-text.ts'
import { startTestServer } from '../server.ts'

describe('sallyport policy replay', () => {
  let folder: string
  let log: string
  let filtered: string
  let candidate: string
  let ids: Record<'readBySupport' | 'listBySupport' | 'deleteByAlice', string>

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    log = join(folder, 'decisions.log')
    candidate = join(folder, 'candidate')
    await cp(join(ROOT, 'policies'), candidate, { recursive: true })
    const server = await startTestServer({ demo: true, env: { DECISION_LOG_FILE: log } })
    const [sam, alice] = [await server.token('sam', 'support'), await server.token('alice', 'member')]
    const request = async (method: string, path: string, token: string) => {
      await server.ask(method, path, { token })
      const lines = (await readFile(log, 'utf8')).trim().split('\n')
      return JSON.parse(lines.at(-1) ?? '').requestId as string
    }
    const { body } = await server.ask('GET', '/api/orders', { token: alice })
    const id = body.items[0].id
    ids = {
      listBySupport: await request('GET', '/api/orders', sam),
      readBySupport: await request('GET', `/api/orders/${id}`, sam),
      deleteByAlice: await request('DELETE', '/api/users/bob', alice),
    }
    await request('GET', '/nowhere', sam)
    const sofar = await readFile(log, 'utf8')
    await request('GET', '/api/orders?status=draft', sam)
    await server.stop()
    // The one about a filter is in a log of its own.
    filtered = join(folder, 'filtered.log')
    await writeFile(filtered, (await readFile(log, 'utf8')).slice(sofar.length))
    await writeFile(log, sofar)
  })
  after(() => removeFolder(folder))

  const run = (...args: readonly string[]) => replay(args)
  const deny = async (line: string) => {
    await cp(join(ROOT, 'policies/policy.csv'), join(candidate, 'policy.csv'))
    await addRules(join(candidate, 'policy.csv'), `${line}\n`)
  }

  it('is quiet, with exit code 0, under the policy that made the log', async () => {
    const { code, stdout } = await run(log)
    expect(stdout).to.equal(
      '4 requests decided again: 4 the same, 0 different.\n' +
        '  requests that ended before a policy was asked, or by a fault of the server: 1\n',
    )
    expect(code).to.equal(0)
  })

  it('finds a wrong deny: who is refused, by which line, with an example; exit code 1', async () => {
    await deny('p, support, orders, read, any, *, deny')
    const { code, stdout } = await run(log, '--candidate', candidate)
    expect(code).to.equal(1)
    expect(stdout).to.contain('4 requests decided again: 3 the same, 1 different.')
    expect(stdout).to.contain('Allowed before, refused under the candidate: 1')
    const place = (await readFile(join(candidate, 'policy.csv'), 'utf8')).trimEnd().split('\n').length - 1
    expect(stdout).to.match(
      new RegExp(`1 x support: GET /api/orders/\\{id\\}.*200 -> 403 forbidden, by .*policy.csv:${place}`),
    )
    expect(stdout).to.contain(`as in ${ids.readBySupport}`)
  })

  it('tells a list that would hold other objects, and what would be allowed now', async () => {
    await deny('p, support, orders, list, draft, *, deny\np, member, users, delete, any, *, allow')
    const { stdout } = await run(log, '--candidate', candidate, '--format', 'json')
    const { differences } = JSON.parse(stdout)
    expect(differences.map(({ change, examples }: Record<string, unknown>) => [change, examples])).to.deep.equal([
      ['perhaps-allowed-now', [ids.deleteByAlice]],
      ['other-objects', [ids.listBySupport]],
    ])
  })

  it('compares with the policy in force, so that an edit since the log is no difference, or with another baseline', async () => {
    await deny('p, support, orders, read, any, *, deny')
    const edited = join(folder, 'edited')
    await cp(candidate, edited, { recursive: true })
    const present = await run(log, '--candidate', candidate, '--policies', edited)
    expect([present.code, present.stdout.split('\n')[0]]).to.deep.equal([
      0,
      '4 requests decided again: 4 the same, 0 different.',
    ])
    expect((await run(log, '--candidate', candidate, '--policies', edited, '--baseline', 'policies')).code).to.equal(1)
    expect((await run(log, '--policies', edited)).stdout, 'with the log').to.contain('1 different')
    const back = await run(log, '--candidate', 'policies', '--policies', edited)
    expect(back.stdout).to.contain('Refused before, allowed under the candidate: 1').and.to.contain('403 forbidden -> ')
  })

  it('says that a list has fewer or more objects', async () => {
    await deny('p, support, orders, list, draft, *, deny')
    const fewer = await run(log, '--candidate', candidate)
    expect(fewer.stdout).to.contain('support: GET /api/orders: 200 -> allowed, fewer objects, by policy.csv:')
    const more = await run(log, '--candidate', 'policies', '--baseline', candidate)
    expect(more.stdout).to.contain('support: GET /api/orders: 200 -> allowed, more objects, by policy.csv:')
  })

  it('tells a list that could not be filtered so any more', async () => {
    await deny('p, support, orders, list, draft, progress, deny')
    const { stdout } = await run(filtered, '--candidate', candidate)
    expect(stdout)
      .to.contain('support: GET /api/orders: 200 -> 400 invalid-query')
      .and.to.contain('fields: none -> status')
  })

  it('prints JSON that fits its schema', async () => {
    await deny('p, support, orders, read, any, *, deny')
    const schema = JSON.parse(await readFile(join(ROOT, 'docs/schemas/policy-replay.schema.json'), 'utf8'))
    const fits = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema)
    const report = JSON.parse((await run(log, '--candidate', candidate, '--format', 'json')).stdout)
    expect(fits(report), JSON.stringify(fits.errors)).to.equal(true)
    expect(report.differences).to.have.length(1)
    expect(fits({ ...report, decided: -1 })).to.equal(false)
    expect(fits({ ...report, differences: [{}] })).to.equal(false)
  })

  it('takes only the time that is asked for, and several logs', async () => {
    const { stdout } = await run(log, '--since', '2099-01-01T00:00:00Z')
    expect(stdout)
      .to.contain('0 requests decided again')
      .and.to.contain('records outside the time of --since and --until: 5\n')
    expect((await run(log, log)).stdout).to.contain('8 requests decided again: 8 the same')
  })

  it('counts lines that are no decision records', async () => {
    const torn = join(folder, 'torn.log')
    await writeFile(
      torn,
      `${await readFile(log, 'utf8')}{"record":"decision","time\nhello\n{"msg":"listening"}\n[]\nnull\n`,
    )
    const { code, stdout } = await run(torn)
    expect(stdout).to.contain('4 requests decided again').and.to.contain('lines that are not decision records: 5\n')
    expect(code).to.equal(0)
  })

  it('counts records that no server wrote among those lines, and obeys nothing that is in others', async () => {
    const [line = ''] = requestLines(await readFile(log, 'utf8'))
    const record = JSON.parse(line)
    const wrong = [
      { roles: 'admin' },
      { relations: 5 },
      { rules: [1] },
      { facts: 5 },
      { facts: { where: { kind: 'all' } } },
      { facts: { where: { kind: 'not', of: { kind: 'perhaps' } } } },
      { facts: { object: [] } },
      { facts: { queried: 'email' } },
    ]
    const odd = { ...record, problem: 'for\u001b[31mbidden' }
    const strange = join(folder, 'strange.log')
    const records = [record, ...wrong.map((one) => ({ ...record, ...one })), odd]
    await writeFile(strange, `${records.map((one) => JSON.stringify(one)).join('\n')}\n`)
    const { stdout, stderr } = await run(strange)
    expect(stdout)
      .to.contain(`lines that are not decision records: ${wrong.length}\n`)
      .and.to.contain('1 could not be decided')
    expect(stdout).to.not.contain('\u001b')
    expect(stderr).to.not.contain('TypeError')
  })

  it('says what a masked record leaves undecidable, instead of guessing', async () => {
    const masked = join(folder, 'masked.log')
    const text = await readFile(log, 'utf8')
    await writeFile(masked, text.replaceAll(/"subject":"[^"]*"/g, '"subject":"***"'))
    const { code, stdout, stderr } = await run(masked)
    expect(stdout).to.contain("4 could not be decided again: the record doesn't hold the subject")
    expect([code, stderr]).to.deep.equal([
      2,
      'sallyport: none of 4 requests could be decided again: name a log with the facts that the candidate needs\n',
    ])
    expect((await run(masked, log)).code, 'some could').to.equal(0)
  })

  it('ends with one sentence and exit code 2 where it can not run', async () => {
    for (const [args, sentence] of [
      [['nowhere.log'], 'sallyport: nowhere.log is not a file: name decision logs\n'],
      [['package.json'], 'sallyport: package.json holds no decision record: name decision logs\n'],
      [
        [log, '--candidate', join(folder, 'none')],
        `sallyport: ${folder}/none is not a directory: name a directory of policy files\n`,
      ],
      [[log, '--since', 'soon'], /`soon` is not a time with an offset/],
    ] as const) {
      const { code, stdout, stderr } = await run(...args)
      expect([code, stdout]).to.deep.equal([2, ''])
      if (typeof sentence === 'string') expect(stderr).to.equal(sentence)
      else expect(stderr).to.match(sentence)
    }
  })
})

function replay(args: readonly string[]): Promise<Ended> {
  return sallyport(['policy', 'replay', ...args])
}
