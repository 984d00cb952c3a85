/** A command within this process (src/cli/run.ts) says what the program says, and leaves nothing behind. */
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { onSignals, runWithin } from '../../src/base/command-process.ts'
import { createProgram } from '../../src/cli/program.ts'
import { LAUNCHER, printedBy, ROOT, sallyport, startSallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { inTurn, soak } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'

/** One command of each group, by the group's name. `serve` and `lsp` are always processes of their own. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  policy: ['policy', 'explain', 'GET', '/api/orders', '--role', 'member'],
  schema: ['schema', 'check', '--format', 'json'],
  matrix: ['matrix', 'init', '--role', 'membr', '--out', join(LAUNCHER, 'matrix')],
  data: ['data', 'check', '--format', 'json'],
  decisions: ['decisions', 'query', 'no-such.log'],
  access: ['access', 'of', 'user:alice', '--at', '2099-01-01', '--format', 'json'],
  events: ['events', 'list', '--format', 'json'],
  user: ['user', 'list'],
  key: ['key', 'list', '--format', 'json'],
  'signing-keys': ['signing-keys', 'list'],
  token: ['token', '--role', 'member'],
  backup: ['backup', join(LAUNCHER, 'a.tar')],
  restore: ['restore', 'no-such.tar', 'restored'],
  init: ['init', 'NO'],
  add: ['add', 'resource', 'Users'],
  evidence: ['evidence', 'verify', 'no-such.evidence'],
  eject: ['eject', join(LAUNCHER, 'api')],
  ci: ['ci', 'github'],
  upgrade: ['upgrade', '--check', '--from', LAUNCHER],
  doctor: ['doctor', '--format', 'json'],
  openapi: ['openapi', '--role', 'auditor'],
  client: ['client', '--out', LAUNCHER],
  completion: ['completion', 'bash', '--', 'policy', 'ch'],
}

describe('a command within another process', () => {
  let folder: string
  let env: Readonly<Record<string, string | undefined>>
  let server: TestServer
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-inner-'))
    server = await startTestServer({ demo: true })
    env = {
      DATA_DIR: join(server.folder, 'data'),
      POLICIES: join(ROOT, 'policies'),
      SCHEMAS: join(ROOT, 'schemas'),
      NO_COLOR: '1',
      FORCE_COLOR: undefined,
    }
  })
  after(async () => {
    await server.stop()
    await removeFolder(folder)
  })

  it('is tried for each group of commands', async () => {
    const groups = (await createProgram()).commands.map((command) => command.name())
    expect([...Object.keys(COMMANDS), 'serve', 'lsp'].sort()).to.deep.equal(groups.sort())
  })

  for (const [group, args] of inTurn(Object.entries(COMMANDS), soak(1, 2))) {
    it(`prints what the program prints, with its exit code: ${group}`, async () => {
      const [inner, outer] = [
        await sallyport(args, { cwd: folder, env }),
        await startSallyport(args, { cwd: folder, env }),
      ]
      expect(plain(inner)).to.deep.equal(plain(outer))
      expect(inner.stdout + inner.stderr).to.not.equal('')
    })
  }

  it('leaves no listener, variable, working directory, exit code or timer, whatever it does', async () => {
    const state = () => ({
      listeners: process.eventNames().map((name) => `${String(name)}: ${process.listenerCount(name)}`),
      environment: { ...process.env },
      folder: process.cwd(),
      code: process.exitCode,
      timers: process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length,
    })
    await writeFile(join(folder, 'package.json'), '{ "dependencies": { "sallyport": "1.0.0" } }')
    await writeFile(join(folder, '.env'), 'SALLYPORT_INNER=1\n')
    const before = state()
    for (const args of Object.values(COMMANDS)) await sallyport(args, { cwd: folder, env })
    // Timers that are only waiting to be removed.
    await until(() => state().timers <= before.timers)
    expect(state()).to.deep.equal(before)
  })

  it('would be found out with a listener, which ends with it (negative control)', async () => {
    const before = process.listenerCount('SIGHUP')
    let during = before
    const within = { env: {}, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr }
    await runWithin(within, async () => {
      onSignals(['SIGHUP'], () => undefined)
      during = process.listenerCount('SIGHUP')
    })
    expect([during, process.listenerCount('SIGHUP')]).to.deep.equal([before + 1, before])
  })

  it('waits for another one, since a process has one working directory', async () => {
    const places: string[] = []
    const look = (cwd: string) =>
      printedBy(
        async () => {
          places.push(process.cwd())
          await sleep(20)
          places.push(process.cwd())
        },
        { cwd },
      )
    await Promise.all([look('/'), look(tmpdir())])
    expect(places).to.deep.equal(['/', '/', tmpdir(), tmpdir()])
  })

  it('is no server: that is a process of its own', async () => {
    const { code, stderr } = await sallyport(['serve', '--port', '0'], { cwd: folder, env })
    expect([code, stderr]).to.satisfy(() => code === 2 && stderr.includes('a process of its own'))
  })
})

/** Without what differs from one run to the next: times, sizes, and what is random. */
function plain<T extends { readonly stdout: string; readonly stderr: string }>(ended: T): T {
  const text = (one: string) =>
    one
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, 'TIME')
      .replace(/\b\d+(?:\.\d+)? (?:ms|seconds?|MB|MiB|GB|%)/g, 'N')
      // doctor names other processes that have the database open; within the server's process, there are none.
      .replace(/,\s*\{[^{}]*it is open in the process[^{}]*\}/, '')
      .replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'UUID')
  return { ...ended, stdout: text(ended.stdout), stderr: text(ended.stderr) }
}
