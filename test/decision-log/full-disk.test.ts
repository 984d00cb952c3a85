/**
 * Logs on a disk that fills, and has room again: a soft limit on the size of files, which any user may set and raise, cuts a write in
 * the midst of a line as a full disk does.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { endNow, removeNow } from '../ends-with-tests.ts'
import { requestLines } from './request-lines.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const SERVER = new URL('killed-server.ts', import.meta.url).pathname
const LAUNCHER = join(ROOT, 'bin/sallyport.js')
/** The database stays below it. */
const LIMIT_KIB = 16 * 1024

describe('logs on a disk that fills', () => {
  let folder: string
  let child: ChildProcess | undefined
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sallyport-'))
    cpSync(join(ROOT, 'policies'), join(folder, 'policies'), { recursive: true })
    writeFileSync(join(folder, 'policies/limits.yaml'), 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n')
  })
  afterEach(async () => {
    await endNow(child)
    removeNow(folder)
  })

  /** Starts a server with `output` appended to a file that has room for so many bytes. */
  function start(
    args: readonly string[],
    output: 'stdout' | 'stderr',
    room: number,
  ): { readonly lines: () => string[] } {
    const file = join(folder, 'output')
    const filled = LIMIT_KIB * 1024 - room
    writeFileSync(file, `${' '.repeat(filled - 1)}\n`)
    const script = `ulimit -S -f ${LIMIT_KIB}; exec "$@" ${output === 'stdout' ? '1' : '2'}>>"$OUTPUT"`
    const env = { PORT: '0', ADMIN_PORT: '0', DATA_DIR: folder, POLICIES: join(folder, 'policies'), OUTPUT: file }
    child = spawn('bash', ['-c', script, 'bash', process.execPath, ...args], {
      cwd: ROOT,
      env: { ...process.env, ...env, DECISION_LOG_FILE: output === 'stdout' ? '-' : join(folder, 'decisions.log') },
      stdio: 'ignore',
    })
    return { lines: () => readFileSync(file).subarray(filled).toString().split('\n') }
  }

  const makeRoom = () => execFileSync('bash', ['-c', `prlimit --pid ${child?.pid} --fsize=unlimited`])

  it('have each acknowledged write once on standard output, and no line stands in another', async () => {
    const { lines } = start([SERVER, folder], 'stdout', 4000)
    const url = await untilThere(() => lines().find((line) => /^http:\S+$/.test(line)))
    const acknowledged: string[] = []
    const write = async (count: number) => {
      const writes = Array.from({ length: count }, async () => {
        const headers = { authorization: 'Bearer t', 'content-type': 'application/json' }
        const answer = await fetch(`${url}/api/v1/notes`, { method: 'POST', headers, body: '{"title":"t"}' })
        if (answer.status === 201) acknowledged.push(((await answer.json()) as { id: string }).id)
      })
      await Promise.all(writes)
    }
    for (let i = 0; i < 12; i++) await write(4)
    await untilThere(() => (statSync(join(folder, 'output')).size === LIMIT_KIB * 1024 ? true : undefined))
    expect(lines().at(-1), 'the disk has cut a line').not.to.equal('')
    makeRoom()
    await write(4)
    expect(acknowledged.length).to.equal(52)
    const records = () =>
      requestLines(lines().slice(0, -1).join('\n'))
        .filter((line) => line !== url)
        .map((line) => JSON.parse(line))
    await untilThere(() => (records().length >= acknowledged.length ? true : undefined))
    expect(records().map(({ objectId }) => objectId)).to.have.members(acknowledged)
    expect(records().map(({ write: number }) => number)).to.deep.equal(acknowledged.map((_, i) => i + 1))
  })

  it('leave a server at work that can not write to standard error, which says later what is missing', async () => {
    const { lines } = start([LAUNCHER, 'serve'], 'stderr', 2500)
    const { url, admin } = await untilThere(() => parsed(lines()).find(({ msg }) => msg === 'listening'))
    const lost = async () => {
      const metrics = await (await fetch(`${admin}/metrics`)).text()
      return Number(/^sallyport_log_lines_lost_total (\d+)$/m.exec(metrics)?.[1])
    }
    // Signals that come together count as one.
    while ((await lost()) <= 5) child?.kill('SIGHUP')
    expect((await fetch(`${url}/livez`)).status).to.equal(200)
    makeRoom()
    const told = await untilThere(() => parsed(lines()).find(({ msg }) => String(msg).includes('missing here')))
    expect(told.lines).to.be.greaterThan(5)
    expect(await lost()).to.equal(told.lines)
    child?.kill('SIGHUP')
    await untilThere(() => (parsed(lines()).at(-1)?.msg === 'decision log reopened' ? true : undefined))
  })
})

/** Every whole line must be JSON. */
function parsed(lines: readonly string[]): readonly Record<string, unknown>[] {
  return lines.slice(0, -1).map((line) => JSON.parse(line))
}

/** What it finds; fails after a time that only a fault takes. */
async function untilThere<T>(find: () => T | undefined): Promise<T> {
  for (const deadline = performance.now() + 120_000; performance.now() < deadline; ) {
    const found = find()
    if (found !== undefined) return found
    await sleep(25)
  }
  throw new Error('it has not come')
}
