/** Whatever ends the tests ends the programs that they started, and deletes their folders. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { removeNow } from './ends-with-tests.ts'
import { program } from './programs.ts'
import { soak } from './runs.ts'

const ROOT = new URL('..', import.meta.url).pathname
const MOCHA = join(ROOT, 'node_modules/mocha/bin/mocha.js')
const ENDED_WITHIN_MS = 20_000

describe('tests that are ended', () => {
  let folder: string
  let tests: ChildProcess

  before(() => {
    for (const name of ['postgres', 'haproxy', 'pgbouncer', 'redis-server'] as const) program(name)
  })

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sallyport-ended-'))
    // PostgreSQL runs as another user.
    chmodSync(folder, 0o755)
  })
  afterEach(() => {
    tests.kill('SIGKILL')
    for (const pid of processesOf(folder)) process.kill(pid, 'SIGKILL')
    removeNow(folder)
  })

  async function start(program: string, args: readonly string[]): Promise<void> {
    const env = { ...process.env, TMPDIR: folder, MOCHA_WORKER_ID: undefined }
    tests = spawn(program, [...args, '--no-parallel', 'test/hanging-tests.ts'], { cwd: ROOT, env })
    let said = ''
    for (const stream of [tests.stdout, tests.stderr]) stream?.on('data', (chunk) => (said += chunk))
    while (!said.includes('started') && tests.exitCode === null) await sleep(50)
    // PostgreSQL has several processes; the negative control of the search for them.
    expect(processesOf(folder).length, said).to.be.greaterThan(5)
    expect(readdirSync(folder).length).to.be.greaterThan(2)
  }

  async function endAll(signal: NodeJS.Signals): Promise<void> {
    tests.kill(signal)
    await once(tests, 'exit')
    const left = () => [...processesOf(folder), ...readdirSync(folder)]
    for (const end = Date.now() + ENDED_WITHIN_MS; left().length > 0 && Date.now() < end; ) await sleep(50)
    expect(left()).to.deep.equal([])
  }

  for (const signal of soak(['SIGTERM'] as const, ['SIGINT', 'SIGKILL'] as const)) {
    it(`leave no program and no folder after ${signal}`, async () => {
      await start(process.execPath, [MOCHA])
      await endAll(signal)
    })
  }

  for (const signal of soak(['SIGKILL'] as const, ['SIGTERM'] as const)) {
    it(`leave none either after ${signal} for the npm that runs them`, async () => {
      await start('npx', ['mocha'])
      await endAll(signal)
    })
  }
})

/** The processes that work in the folder, or were started with it as TMPDIR. */
function processesOf(folder: string): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => worksIn(pid, folder)).map(Number)
}

function worksIn(pid: string, folder: string): boolean {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
    return environment.includes(`TMPDIR=${folder}`) || readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)
  } catch {
    return false
  }
}
