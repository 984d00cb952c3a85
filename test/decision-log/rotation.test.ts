/** The log of the real program while logrotate and the program's own rotation take its file away, under load. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { endNow, removeFolder } from '../ends-with-tests.ts'
import { freePort } from '../redis.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const LAUNCHER = join(ROOT, 'bin/sallyport.js')
const CONNECTIONS = 4
const ROTATIONS = 25

describe('a decision log that is rotated under load', () => {
  let folder: string
  let url: string
  let env: NodeJS.ProcessEnv
  let child: ChildProcess | undefined

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    const port = String(await freePort())
    url = `http://127.0.0.1:${port}`
    env = { ...process.env, DATA_DIR: join(folder, 'data'), PORT: port, ADMIN_PORT: '0' }
  })
  afterEach(async () => {
    await endNow(child)
    await removeFolder(folder)
  })

  it('has every answered request in one whole line of one of its files', async () => {
    const log = join(folder, 'data/decisions.log')
    const started = await start({ DECISION_LOG: 'required', DECISION_LOG_MAX: '64kb', DECISION_LOG_KEEP: '1000' })
    let over = false
    const lanes = Array.from({ length: CONNECTIONS }, () => askUntil(() => over))
    for (let i = 1; i <= ROTATIONS; i++) {
      await sleep(60)
      // It isn't there between two names of the program's own rotation, and until the last signal was heard.
      while (!(await isMoved(log, join(folder, 'data', `moved.${i}`)))) await sleep(5)
      started.kill('SIGHUP')
    }
    over = true
    const answered = (await Promise.all(lanes)).flat()
    const lines = await linesIn(join(folder, 'data'))
    expect(answered.length).to.be.greaterThan(ROTATIONS)
    expect(missing(answered, lines)).to.deep.equal([])
    expect(new Set(idsOf(lines)).size).to.equal(lines.length)
    expect((await readdir(join(folder, 'data'))).filter((name) => /^moved/.test(name)).length).to.equal(ROTATIONS)
    // A line less would be noticed.
    expect(missing(answered, lines.slice(0, -CONNECTIONS * 2))).not.to.deep.equal([])
  })

  it('stops the start with one sentence where its place is a folder, a pipe or another file', () => {
    const file = join(folder, 'place')
    execFileSync('mkdir', [file])
    expect(refusal(file)).to.contain("can't be written (it is a folder)")
    execFileSync('mkfifo', [`${file}.pipe`])
    expect(refusal(`${file}.pipe`)).to.contain('is a pipe')
    expect(refusal(LAUNCHER)).to.contain('is not a decision log')
    expect(existsSync(LAUNCHER)).to.equal(true)
  })

  async function start(more: NodeJS.ProcessEnv): Promise<ChildProcess> {
    const stdio = ['ignore', 'ignore', 'pipe'] as const
    const server = spawn(process.execPath, [LAUNCHER, 'serve'], { env: { ...env, ...more }, stdio: [...stdio] })
    child = server
    let told = ''
    server.stderr?.on('data', (text) => {
      told += String(text)
    })
    // Signals are heard before it says so.
    while (!told.includes('"listening"')) {
      if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}: ${told}`)
      await sleep(20)
    }
    return server
  }

  /** The ids of the requests that were answered. */
  async function askUntil(over: () => boolean): Promise<readonly string[]> {
    const ids: string[] = []
    while (!over()) {
      const answer = await fetch(`${url}/api/orders`)
      const { status, instance } = (await answer.json()) as { status: number; instance: string }
      expect(status).to.equal(401)
      ids.push(instance.replace('urn:uuid:', ''))
    }
    return ids
  }

  function isMoved(from: string, to: string): Promise<boolean> {
    return rename(from, to).then(
      () => true,
      () => false,
    )
  }

  /** What a start says of it. */
  function refusal(file: string): string {
    try {
      execFileSync(process.execPath, [LAUNCHER, 'serve'], { env: { ...env, DECISION_LOG_FILE: file }, stdio: 'pipe' })
    } catch (error) {
      const { status, stderr } = error as { status: number; stderr: Buffer }
      expect([status, String(stderr).trimEnd().split('\n').length]).to.deep.equal([2, 1])
      return String(stderr)
    }
    throw new Error('the server started')
  }
})

/** Each of them must be whole. */
async function linesIn(data: string): Promise<readonly string[]> {
  const names = (await readdir(data)).filter((name) => /^(decisions\.log(?!\.tree)|moved)/.test(name))
  const texts = await Promise.all(names.map((name) => readFile(join(data, name), 'utf8')))
  for (const text of texts) expect(text === '' || text.endsWith('\n')).to.equal(true)
  return texts.flatMap((text) => text.split('\n').filter((line) => line !== ''))
}

function missing(ids: readonly string[], lines: readonly string[]): readonly string[] {
  const held = new Set(idsOf(lines))
  return ids.filter((id) => !held.has(id))
}

function idsOf(lines: readonly string[]): readonly string[] {
  return lines.map((line) => JSON.parse(line).requestId)
}
