/** sallyport decisions tail and query, on the log of a real server. */
import { type ChildProcess, spawn } from 'node:child_process'
import { appendFile, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { readLog } from '../../src/tools/replay/replay.ts'
import { type Ended, ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer } from '../server.ts'
import { until } from '../until.ts'
import { requestLines } from './request-lines.ts'

describe('sallyport decisions', () => {
  let folder: string
  let log: string
  let lines: readonly string[]

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    log = join(folder, 'decisions.log')
    const server = await startTestServer({ demo: true, env: { DECISION_LOG_FILE: log } })
    const [sam, alice] = [await server.token('sam', 'support'), await server.token('alice', 'member')]
    for (const [method, path, token] of [
      ['GET', '/api/orders', sam],
      ['GET', '/api/v1/notes', alice],
      ['DELETE', '/api/users/bob', alice],
      ['GET', '/profile', undefined],
      ['GET', '/nowhere', 'no.such.token'],
    ] as const) {
      await server.ask(method, path, { token })
    }
    await server.stop()
    const text = await readFile(log, 'utf8')
    lines = requestLines(text)
    // As rotation leaves it: the first two records are in an older file.
    await writeFile(`${log}.1`, `${lines[1]}\n`)
    await writeFile(`${log}.2`, `${lines[0]}\n`)
    await writeFile(log, `${lines.slice(2).join('\n')}\n`)
  })
  after(() => removeFolder(folder))

  const run = (...args: readonly string[]) => decisions(args, { DECISION_LOG_FILE: log })
  const ids = (output: string) =>
    output
      .trim()
      .split('\n')
      // No record at all is told as an empty list.
      .filter((line) => line !== '' && line !== '[]')
      .map((line) => JSON.parse(line).requestId)
  const idsOf = (...indexes: readonly number[]) => indexes.map((i) => JSON.parse(lines[i] ?? '').requestId)

  it('query gives all records, of full files too, oldest first, as they are', async () => {
    const { code, stdout } = await run('query', '--format', 'json')
    expect([code, stdout]).to.deep.equal([0, `${lines.join('\n')}\n`])
  })

  it('query and replay read a record whole, whatever its texts hold', async () => {
    const odd = join(folder, 'odd.log')
    const line = lines[0]?.replace('"route":', '"objectId":"a\u2028b\u2029c","route":') ?? ''
    await writeFile(odd, `${line}\n`)
    const { stdout } = await decisions(['query', '--format', 'json'], { DECISION_LOG_FILE: odd })
    expect(JSON.parse(stdout)).to.deep.equal(JSON.parse(line))
    const read = { records: 0, others: 0 }
    await readLog(odd, {
      onRecord: async () => void read.records++,
      onOther: () => read.others++,
      onProgress: () => undefined,
    })
    expect(read).to.deep.equal({ records: 1, others: 0 })
  })

  it('query finds what an API key was used for, and names it', async () => {
    const keys = join(folder, 'keys.log')
    const byKey = (line: string, id: string) => line.replace('"subject":', `"credential":"key ${id}","subject":`)
    await writeFile(
      keys,
      `${lines[0]}\n${byKey(lines[1] ?? '', 'EcP2LDMWFc')}\n${byKey(lines[2] ?? '', 'g8VkFoDJuC')}\n`,
    )
    const { stdout } = await decisions(['query', '--credential', 'key EcP2LDMWFc'], { DECISION_LOG_FILE: keys })
    expect(stdout).to.match(/^\S+ {2}200 {2}allowed .* alice \(member\) by key EcP2LDMWFc [^\n]*\n$/)
  })

  it('query --instance gives what that instance answered', async () => {
    const shared = join(folder, 'shared.log')
    const by = (line: string, name: string) => line.replace(/"instance":"[^"]*"/, `"instance":"${name}"`)
    await writeFile(shared, `${lines[0]}\n${by(lines[1] ?? '', 'north')}\n${by(lines[2] ?? '', 'south')}\n`)
    const { stdout } = await decisions(['query', '--instance', 'south'], { DECISION_LOG_FILE: shared })
    expect(stdout.match(/\n/g)).to.have.length(1)
    expect(stdout).to.contain(idsOf(2)[0])
  })

  it('query --trace-id gives the requests of that trace', async () => {
    const traced = join(folder, 'traced.log')
    const id = '4bf92f3577b34da6a3ce929d0e0e4736'
    const inTrace = (line = '') => line.replace('{"record"', `{"traceId":"${id}","record"`)
    await writeFile(traced, `${lines[0]}\n${inTrace(lines[1])}\n${inTrace(lines[2])}\n`)
    expect(ids(await queryHere(traced, ['--trace-id', id]))).to.deep.equal(idsOf(1, 2))
    expect(ids(await queryHere(traced, ['--trace-id', id.replace('4', '5')]))).to.deep.equal([])
  })

  it('query --batch gives the requests of that batch, whose own record has no batch', async () => {
    const batched = join(folder, 'batched.log')
    const [id = ''] = idsOf(0)
    const inBatch = (line = '') => line.replace('{"record"', `{"batch":"${id}","record"`)
    await writeFile(batched, `${lines[0]}\n${inBatch(lines[1])}\n${lines[2]}\n`)
    expect(ids(await queryHere(batched, ['--batch', id]))).to.deep.equal(idsOf(1))
    expect(ids(await queryHere(batched, ['--batch', `urn:uuid:${id}`]))).to.deep.equal(idsOf(1))
  })

  it('query --rule gives what that line decided', async () => {
    const rulesOf = (line: string): readonly string[] => JSON.parse(line).rules ?? []
    const [rule = ''] = rulesOf(lines[0] ?? '')
    expect(rule).to.match(/^policy\.csv:\d+$/)
    const deciding = lines.filter((line) => rulesOf(line).includes(rule))
    expect(deciding.length).to.be.lessThan(lines.length)
    const found = async (place: string) => ids((await run('query', '--format', 'json', '--rule', place)).stdout)
    expect(await found(rule)).to.deep.equal(deciding.map((line) => JSON.parse(line).requestId))
    expect(await found('policy.csv:1')).to.deep.equal([])
    for (const faulty of ['policy.csv', 'policy.csv:0', '28', 'policies/policy.csv:28']) {
      const { code, stderr } = await run('query', '--rule', faulty)
      expect([code, stderr]).to.have.property('1').that.contains('It must be a file and a line, like policy.csv:28.')
      expect(code).to.equal(2)
    }
  })

  const FILTERS: readonly (readonly [readonly string[], readonly number[]])[] = [
    [['--role', 'support'], [0]],
    [
      ['--role', 'support', '--role', 'member'],
      [0, 1, 2],
    ],
    [['--method', 'DELETE'], [2]],
    [
      ['--method', 'DELETE', '--method', 'GET'],
      [0, 1, 2, 3, 4],
    ],
    [['--method', 'COMMAND'], []],
    [['--resource', 'orders'], [0]],
    [['--action', 'delete'], [2]],
    [
      ['--subject', 'alice'],
      [1, 2],
    ],
    [
      ['--outcome', 'refused'],
      [2, 3, 4],
    ],
    [['--status', '401'], [3]],
    [
      ['--status', '401', '--status', '404'],
      [3, 4],
    ],
    [['--route', '/api/users/{id}'], [2]],
    [['--outcome', 'refused', '--subject', 'alice'], [2]],
    [['--until', '2001-01-01T00:00:00Z'], []],
    [
      ['--since', '2001-01-01T00:00:00Z'],
      [0, 1, 2, 3, 4],
    ],
  ]
  for (const [filter, expected] of FILTERS) {
    it(`query ${filter.join(' ')} gives just those`, async () => {
      expect(ids(await queryHere(log, filter))).to.deep.equal(idsOf(...expected))
    })
  }

  it('query --request-id gives one', async () => {
    const [id = ''] = idsOf(2)
    for (const form of [id, `urn:uuid:${id}`, `URN:UUID:${id.toUpperCase()}`]) {
      expect(ids(await queryHere(log, ['--request-id', form])), form).to.deep.equal([id])
    }
  })

  it('says so where no record matches', async () => {
    const nothing = ['--request-id', '00000000-0000-4000-8000-000000000000']
    for (const command of [['query'], ['tail', '-n', '3']]) {
      const text = await run(...command, ...nothing)
      expect(text).to.deep.equal({ code: 0, stdout: '', stderr: 'sallyport: no records match\n' })
      const json = await run(...command, ...nothing, '--format', 'json')
      expect(json).to.deep.equal({ code: 0, stdout: '[]\n', stderr: 'sallyport: no records match\n' })
    }
  })

  it('query --since and --until take how long ago it was', async () => {
    expect(ids(await queryHere(log, ['--since', '1h']))).to.have.length.greaterThan(0)
    expect(await queryHere(log, ['--until', '1h'])).to.equal('[]\n')
    for (const [since, until] of [
      ['yesterday', 'tomorrow'],
      ['2020-02-29', '2999-01-01'],
    ] as const) {
      expect(ids(await queryHere(log, ['--since', since, '--until', until]))).to.have.length.greaterThan(0)
      expect(await queryHere(log, ['--since', until])).to.equal('[]\n')
      expect(await queryHere(log, ['--until', since])).to.equal('[]\n')
    }
  })

  it('prints a line a record for people, whatever is in it', async () => {
    const hostile = join(folder, 'hostile.log')
    await writeFile(hostile, `${(lines[2] ?? '').replace('"alice"', '"al\\u001b[2Jice\\n\\u202e"')}\n`)
    const { stdout } = await run('query', hostile)
    expect(stdout.split('\n')).to.have.length(2)
    expect(stdout)
      .to.contain('403  refused  DELETE')
      .and.to.contain('/api/users/{id}  bob')
      .and.not.to.contain('\u001b')
  })

  it('tail gives the last ones, from full files where the last one has too few', async () => {
    expect(ids((await run('tail', '-n', '2', '--format', 'json')).stdout)).to.deep.equal(idsOf(3, 4))
    expect(ids((await run('tail', '-n', '4', '--format', 'json')).stdout)).to.deep.equal(idsOf(1, 2, 3, 4))
    expect(ids((await run('tail', '--subject', 'alice', '-n', '1', '--format', 'json')).stdout)).to.deep.equal(idsOf(2))
  })

  it('says on stderr how many lines are no records, and goes on', async () => {
    const torn = join(folder, 'torn.log')
    await writeFile(torn, `${lines[0]}\nhello\n{"record":"decision","ti\n${lines[1]}\n`)
    const { code, stdout, stderr } = await run('query', torn, '--format', 'json')
    expect([code, ids(stdout), stderr]).to.deep.equal([
      0,
      idsOf(0, 1),
      'sallyport: skipped lines that are not decision records: 2\n',
    ])
  })

  it('ends with one sentence and exit code 2 where it can not run', async () => {
    for (const [args, env, sentence] of [
      [['query', 'nowhere.log'], {}, 'sallyport: there is no decision log nowhere.log: name another file\n'],
      [['tail'], { DECISION_LOG_FILE: '-' }, /goes to standard output/],
      [['query', '--outcome', 'perhaps'], {}, /It must be allowed, refused or failed/],
      [['query', '--since', 'tomorow'], {}, /`tomorow` is not a time with an offset.*: write .*yesterday/],
      [['query', '--until', '2026-02-30'], {}, /`2026-02-30` names a day that doesn't exist/],
      [['query', '--status', '7'], {}, /It must be a status code/],
    ] as const) {
      const { code, stdout, stderr } = await decisions(args, { DECISION_LOG_FILE: log, ...env })
      expect([code, stdout], args.join(' ')).to.deep.equal([2, ''])
      expect(stderr).to.match(typeof sentence === 'string' ? new RegExp(sentence) : sentence)
    }
  })

  it('tail -f tells what comes, also over a rotation and a truncation, each once', async () => {
    const growing = join(folder, 'growing.log')
    await writeFile(growing, `${lines[0]}\n`)
    const child = spawn(
      process.execPath,
      ['bin/sallyport.js', 'decisions', 'tail', '-f', growing, '--format', 'json'],
      {
        cwd: ROOT,
      },
    )
    const told: string[] = []
    child.stdout.on('data', (text) => told.push(String(text)))
    const untilTold = async (...indexes: readonly number[]) => {
      await until(() => ids(told.join('')).length >= indexes.length)
      expect(ids(told.join(''))).to.deep.equal(idsOf(...indexes))
    }
    try {
      await untilTold(0)
      await appendFile(growing, (lines[1] ?? '').slice(0, 50))
      await sleep(300)
      await appendFile(growing, `${(lines[1] ?? '').slice(50)}\n`)
      await untilTold(0, 1)
      await appendFile(growing, `${lines[2]}\n`)
      await rename(growing, `${growing}.1`)
      const other = JSON.stringify({ msg: 'x'.repeat(5000) })
      await writeFile(growing, `${other}\n${lines[3]}\n`)
      await untilTold(0, 1, 2, 3)
      // Whoever looks only now sees that the file is shorter.
      await writeFile(growing, '')
      await appendFile(growing, `${lines[4]}\n`)
      await untilTold(0, 1, 2, 3, 4)
    } finally {
      await ended(child)
    }
  })
})

/** In this process: starting one takes longer than the query. */
async function queryHere(log: string, args: readonly string[]): Promise<string> {
  return (await sallyport(['decisions', 'query', log, ...args, '--format', 'json'])).stdout
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGINT')
  await exit
}

function decisions(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  return sallyport(['decisions', ...args], { env })
}
