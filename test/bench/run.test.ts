/** The bench measures real servers, tells all of it as JSON, and says what it needs in one sentence. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { PARTS } from '../../bench/parts/parts.ts'
import type { RunResult } from '../../bench/report/result.ts'
import { INSTALL_MS, program } from '../programs.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const SCHEMA = JSON.parse(readFileSync(join(ROOT, 'docs/schemas/bench.schema.json'), 'utf8'))
const SMALL = ['--small', '--rounds', '1', '--seconds', '0.2']

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
  after(() => rmSync(folder, { recursive: true }))

  it('measures every part, prints a table each, and writes JSON of the documented shape', async function () {
    this.timeout(240_000)
    const file = join(folder, 'result.json')
    const { code, stdout, stderr } = await bench([...SMALL, '--json', file])
    expect(code, stderr).to.equal(0)
    const result: RunResult = JSON.parse(readFileSync(file, 'utf8'))
    const fits = new Ajv2020({ formats: { 'date-time': true } }).compile(SCHEMA)
    expect(fits(result), JSON.stringify(fits.errors)).to.equal(true)
    expect(result.parts.map(({ id }) => id)).to.deep.equal(PARTS.map(({ id }) => id))
    for (const { title } of result.parts) expect(stdout).to.include(`## ${title}\n`)
    for (const { id, rows } of result.parts) {
      const samples = rows.flatMap(({ quantities }) => Object.values(quantities)).flat()
      expect(samples, id).to.satisfy((values: number[]) => values.length > 0 && values.every(Number.isFinite))
    }
  })

  it('measures the server on PostgreSQL beside node:http and pg, and says that peers were not measured', async function () {
    this.timeout(60_000)
    const file = join(folder, 'postgres.json')
    const { code, stdout, stderr } = await bench([...SMALL, '--only', 'postgres', '--json', file])
    expect(code, stderr).to.equal(0)
    const { parts }: RunResult = JSON.parse(readFileSync(file, 'utf8'))
    const [{ rows, targets } = { rows: [], targets: [] }] = parts
    const measured = rows.filter(({ quantities }) => (quantities['PostgreSQL CPU us/req']?.length ?? 0) > 0)
    expect(measured).to.have.length(5)
    expect(targets.map(({ values }) => values.length)).to.deep.equal([1, 1, 1])
    expect(stdout).to.match(/^\| Fastify, token cache, pg: not measured +\| +- \|/m)
  })

  it('needs wrk, and says how to get it', async function () {
    this.timeout(60_000)
    const { code, stderr } = await bench([...SMALL, '--only', 'start'], { PATH: join(folder, 'empty') })
    expect(code).to.equal(2)
    expect(stderr).to.include('bench: `wrk` is missing; install it, on Debian with `apt install wrk`\n')
  })

  it('refuses a folder that has no peers, and one whose packages are missing', async () => {
    const none = await bench([...SMALL, '--peers', folder])
    expect(none.code).to.equal(2)
    expect(none.stderr).to.equal(`bench: \`${folder}\` is no folder of peers: it has no \`fixture.mjs\`\n`)
    writeFileSync(join(folder, 'fixture.mjs'), '')
    const bare = await bench([...SMALL, '--peers', folder])
    expect(bare.code).to.equal(2)
    expect(bare.stderr).to.equal(
      `bench: the peers in \`${folder}\` have no packages; run \`npm run setup\` in a copy of it\n`,
    )
  })

  it('refuses a part that it does not know', async () => {
    const { code, stderr } = await bench(['--only', 'speed'])
    expect(code).to.equal(2)
    expect(stderr).to.include('`speed` is none of guarded-get, ')
  })
})
