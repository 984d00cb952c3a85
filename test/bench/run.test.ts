/** The bench measures real servers, tells all of it as JSON, and says what it needs in one sentence. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { faultOfPeers } from '../../bench/machine/peer-packages.ts'
import { pathOf } from '../../bench/machine/programs.ts'
import { PARTS } from '../../bench/parts/parts.ts'
import type { RunResult } from '../../bench/report/result.ts'
import { removeNow } from '../ends-with-tests.ts'
import { INSTALL_MS, program } from '../programs.ts'
import { inTurn, soak } from '../runs.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const SCHEMA = JSON.parse(readFileSync(join(ROOT, 'docs/schemas/bench.schema.json'), 'utf8'))
const SMALL = ['--small', '--no-peers', '--rounds', '1', '--seconds', '0.1']

const FEW = ['guarded-get', 'limiters', 'start']

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function bench(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const env = { ...process.env, ...environment }
  try {
    const told = await promisify(execFile)(process.execPath, [join(ROOT, 'bench/run.ts'), ...args], { env })
    return { code: 0, ...told }
  } catch (error) {
    return error as Ended
  }
}

describe('npm run bench', () => {
  let folder: string
  before(function () {
    this.timeout(2 * INSTALL_MS)
    program('wrk')
    program('redis-server')
    program('postgres')
    folder = mkdtempSync(join(tmpdir(), 'bench-test-'))
  })
  after(() => removeNow(folder))

  it('measures its parts, prints a table each, and writes JSON of the documented shape', async function () {
    this.timeout(480_000)
    const all = PARTS.map(({ id }) => id)
    // In soak each commit has its turn of half of them.
    const measured = soak(inTurn(all, 2), FEW)
    const file = join(folder, 'result.json')
    const { code, stdout, stderr } = await bench([...SMALL, '--only', measured.join(), '--json', file])
    expect(code, stderr).to.equal(0)
    const result: RunResult = JSON.parse(readFileSync(file, 'utf8'))
    const fits = new Ajv2020({ formats: { 'date-time': true } }).compile(SCHEMA)
    expect(fits(result), JSON.stringify(fits.errors)).to.equal(true)
    expect(result.parts.map(({ id }) => id)).to.deep.equal(measured)
    for (const { title } of result.parts) expect(stdout).to.include(`## ${title}\n`)
    for (const { id, rows } of result.parts) {
      const samples = rows.flatMap(({ quantities }) => Object.values(quantities)).flat()
      expect(samples, id).to.satisfy((values: number[]) => values.length > 0 && values.every(Number.isFinite))
    }
    expect(stdout).to.include('Left out: the peers, because of `--no-peers`\n')
    if (!measured.includes('postgres')) return
    const postgres = result.parts.find(({ id }) => id === 'postgres')
    const onDatabase = postgres?.rows.filter(({ quantities }) => quantities['PostgreSQL CPU us/req']?.length === 1)
    expect(onDatabase).to.have.length(5)
    expect(postgres?.targets.map(({ values }) => values.length)).to.deep.equal([1, 1, 1])
    expect(stdout).to.match(/^\| Fastify, token cache, pg: not measured +\| +- \|/m)
  })

  it('needs wrk, and says how to get it', async () => {
    const { code, stderr } = await bench([...SMALL, '--only', 'start'], { PATH: join(folder, 'empty') })
    expect(code).to.equal(2)
    expect(stderr).to.include('bench: `wrk` is missing; install it, on Debian with `apt install wrk`\n')
  })

  it('goes on when a part fails, and keeps the parts of a former run that it is to keep', async () => {
    const [file, path] = [join(folder, 'failed.json'), join(folder, 'wrk-alone')]
    mkdirSync(path)
    symlinkSync(pathOf('wrk'), join(path, 'wrk'))
    const measure = (...args: readonly string[]) => bench([...SMALL, '--json', file, ...args], { PATH: path })
    const measured = () => (JSON.parse(readFileSync(file, 'utf8')) as RunResult).parts.map(({ id }) => id)
    const { code, stderr } = await measure('--only', 'limiters,start')
    expect(code).to.equal(2)
    expect(stderr).to.include('bench: `redis-server` is missing; ')
    expect(measured()).to.deep.equal(['start'])
    expect((await measure('--only', 'budget', '--keep')).code).to.equal(0)
    expect(measured()).to.deep.equal(['budget', 'start'])
    const { parts, began }: RunResult = JSON.parse(readFileSync(file, 'utf8'))
    const [budget, start] = parts
    expect(budget?.run).to.equal(undefined)
    expect(Date.parse(start?.run?.began ?? '')).to.be.lessThan(Date.parse(began))
  })

  it('says what to do where the packages of the peers are missing, or of other versions', () => {
    const installed = (version: string) => writeFileSync(join(folder, 'node_modules/koa/package.json'), version)
    writeFileSync(join(folder, 'package.json'), '{ "dependencies": { "koa": "3.3.0" } }')
    const setUp = 'run `npm ci --prefix bench/peers`'
    expect(faultOfPeers(folder)).to.equal(`the peers, because the package \`koa\` isn't installed: ${setUp}`)
    mkdirSync(join(folder, 'node_modules/koa'), { recursive: true })
    installed('{ "version": "3.2.0" }')
    expect(faultOfPeers(folder)).to.equal(`the peers, because \`koa\` is 3.2.0 and not 3.3.0: ${setUp}`)
    installed('{ "version": "3.3.0" }')
    expect(faultOfPeers(folder)).to.equal(undefined)
  })

  it('refuses a part that it does not know', async () => {
    const { code, stderr } = await bench(['--only', 'speed'])
    expect(code).to.equal(2)
    expect(stderr).to.include('`speed` is none of guarded-get, ')
  })
})
