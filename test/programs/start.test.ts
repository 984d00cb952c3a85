/** A program loads what it needs for its first answer; the rest comes when it is needed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'

const ROOT = new URL('../..', import.meta.url).pathname

describe('the start of a program', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-start-'))
  })
  after(() => rm(folder, { recursive: true }))

  it('of a server leaves for later what the first answer does not need', async () => {
    const loaded = await packagesAt('listening', ['serve'])
    expect(loaded).to.include.members(['koa', 'casbin', 'jose'])
    for (const late of ['prom-client', 'koa-body', 'ioredis', 'uuid', 'cli-progress'])
      expect(loaded).not.to.include(late)
  })

  it('of a server takes along what its settings ask for', async () => {
    const env = { POLICY_CANDIDATE: join(ROOT, 'policies') }
    expect(await packagesAt('listening', ['serve'], env)).to.include('prom-client')
  })

  it('of a command takes along nothing of the others', async () => {
    expect(await packagesAt('sallyport', ['policy', 'nonsense'])).to.include.members(['cli-progress', 'csv-parse'])
    const loaded = await packagesAt('', ['policy', 'check', join(ROOT, 'policies')])
    for (const other of ['cli-progress', 'koa', 'jose', 'kysely']) expect(loaded).not.to.include(other)
    expect(await packagesAt('', ['--version'])).to.deep.equal(['commander'])
  })

  /** The packages that were loaded when it had written the words to standard error, or ended. */
  async function packagesAt(
    words: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    const MODULES = join(folder, `modules-${Math.random()}`)
    const hook = join(ROOT, 'test/programs/tell-modules.ts')
    const env = { ...process.env, ...environment, MODULES, DATA_DIR: join(folder, 'data'), PORT: '0', ADMIN_PORT: '0' }
    const child = spawn(process.execPath, ['--import', hook, join(ROOT, 'bin/sallyport.js'), ...args], {
      cwd: ROOT,
      env,
    })
    const ended = once(child, 'exit')
    const told = new Promise<void>((resolve) => {
      child.stderr.on('data', (text: Buffer) => words !== '' && text.includes(words) && resolve())
    })
    await Promise.race([told, ended])
    const modules = await readFile(MODULES, 'utf8')
    child.kill('SIGKILL')
    await ended
    const found = modules.split('\n').map((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1])
    return [...new Set(found.filter((name) => name !== undefined))]
  }
})
