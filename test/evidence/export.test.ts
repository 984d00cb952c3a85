/** What is exported fits together, although the server goes on, and nothing is left of an export that is stopped. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import files, { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rename, utimes, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { startLogTree } from '../../src/decision-log/tree/log-tree.ts'
import { bytesPart } from '../../src/tools/backup/archive/write-archive.ts'
import { type EvidenceParts, exportEvidence } from '../../src/tools/evidence/export-evidence.ts'
import { LAUNCHER, startSallyport } from '../command.ts'
import { endWithTests, removeFolder } from '../ends-with-tests.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { unpacked } from './archives.ts'

const DAY_MS = 86_400_000

describe('an export of evidence', () => {
  let server: TestServer
  let root: string
  let folder: string
  /** A log of two files, and its newer one. */
  let log: string
  let lines: readonly string[]

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'sallyport-'))
    server = await startTestServer({ demo: true })
    for (let i = 0; i < 4; i++) await server.ask('GET', '/api/v1/notes')
    await server.decisions()
    const own = join(server.folder, 'data/decisions.log')
    await until(async () => {
      const [, signed] = (await readFile(`${own}.tree/checkpoint`, 'utf8').catch(() => '')).split('\n')
      return Number(signed) >= 5
    })
    lines = (await readFile(own, 'utf8')).split('\n').slice(0, 5)
  })
  after(async () => {
    await server.stop()
    await removeFolder(root)
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(root, 'log-'))
    log = join(folder, 'decisions.log')
    await cp(join(server.folder, 'data/decisions.log.tree'), `${log}.tree`, { recursive: true })
    await writeFile(`${log}.1`, textOf(lines.slice(0, 2)))
    await writeFile(log, textOf(lines.slice(2)))
  })

  const textOf = (some: readonly string[]) => some.map((line) => `${line}\n`).join('')

  async function exported(parts: Partial<EvidenceParts> = {}) {
    const file = join(await mkdtemp(join(folder, 'out-')), 'evidence')
    const now = new Date()
    const whole = {
      period: { from: now.getTime() - DAY_MS, until: now.getTime() },
      logs: [log],
      policy: async () => ({ kind: 'folder', part: bytesPart('policy/folder.json', Buffer.from('{}')) }) as const,
      schemas: join(server.folder, 'schemas'),
      reports: async () => [],
      added: [],
      program: '0',
      now,
      ...parts,
    }
    const { gaps } = await exportEvidence(file, whole, [])
    const found = await unpacked(file)
    const names = [...found.parts.keys()].filter((name) => /^log\/\d\/decisions/.test(name))
    return { gaps, logs: Object.fromEntries(names.map((name) => [name, String(found.parts.get(name))])), ...found }
  }

  /** `then` is done when the logs are open, and nothing of them is read. */
  const policyAfter = (then: () => Promise<unknown>) => async () => {
    await then()
    return { kind: 'folder', part: bytesPart('policy/folder.json', Buffer.from('{}')) } as const
  }

  it('has the schemas of commands, without which no rule about them can be read', async () => {
    const schemas = await mkdtemp(join(folder, 'schemas-'))
    await cp(join(server.folder, 'schemas'), schemas, { recursive: true })
    await mkdir(join(schemas, 'commands'), { recursive: true })
    await writeFile(join(schemas, 'commands/settle.json'), '{}')
    await writeFile(join(schemas, 'commands/.settle.json.swp'), 'left by an editor')
    const names = [...(await exported({ schemas })).parts.keys()].filter((name) => name.startsWith('schemas/'))
    expect(names).to.include.members(['schemas/orders.json', 'schemas/commands/settle.json'])
    expect(names.filter((name) => name.includes('/.'))).to.deep.equal([])
  })

  it('has the files as they were named and as long as they were, although the log is rotated meanwhile', async () => {
    const policy = policyAfter(async () => {
      await rename(`${log}.1`, `${log}.2`)
      await rename(log, `${log}.1`)
      await writeFile(log, 'another\n')
    })
    const { logs } = await exported({ policy })
    expect(logs).to.deep.equal({
      'log/1/decisions.log.1': textOf(lines.slice(0, 2)),
      'log/1/decisions.log': textOf(lines.slice(2)),
    })
  })

  it('copies the policy after the log, so that it has the version of each record', async () => {
    const { logs } = await exported({ policy: policyAfter(() => appendFile(log, `${lines.at(-1)}\n`)) })
    expect(logs['log/1/decisions.log']).to.equal(textOf(lines.slice(2)))
    // The negative control: a record before it is there.
    expect((await exported()).logs['log/1/decisions.log']).to.equal(textOf([...lines.slice(2), lines.at(-1) ?? '']))
  })

  it('leaves out no file with a record of the period, also where a file begins with a record that came late', async () => {
    const late = (lines[2] ?? '').replace(/"time":"[^"]+"/, '"time":"2020-01-01T00:00:00.000Z"')
    await writeFile(log, textOf([late, ...lines.slice(3)]))
    expect(Object.keys((await exported()).logs)).to.have.length(2)
    // Whole files that were written before the period are left out, but for the last of them.
    for (const [nth, days] of [10, 9, 8].entries()) {
      const older = `${log}.${4 - nth}`
      await writeFile(older, textOf(lines.slice(0, 1)))
      await utimes(older, new Date(), new Date(Date.now() - days * DAY_MS))
    }
    expect(Object.keys((await exported()).logs)).to.deep.equal([
      'log/1/decisions.log.2',
      'log/1/decisions.log.1',
      'log/1/decisions.log',
    ])
  })

  it('says where the log does not reach the beginning or the end of the period', async () => {
    const now = Date.now()
    const gapsOf = async (from: number, to: number) => (await exported({ period: { from, until: to } })).gaps
    const [first, last] = [lines[0], lines[4]].map((line) => Date.parse(JSON.parse(line ?? '').time))
    expect(await gapsOf(now - DAY_MS, now)).to.deep.equal([
      `${log} begins after the period does (${new Date(first ?? 0).toISOString()})`,
      `${log} ends before the period does (${new Date(last ?? 0).toISOString()})`,
    ])
    expect(await gapsOf((first ?? 0) + 1, last ?? 0)).to.deep.equal([])
  })

  it('takes moved files for the older ones of the log behind them', async () => {
    const moved = join(folder, 'decisions.log-20261101')
    await rename(`${log}.1`, moved)
    const { logs, manifest } = await exported({ logs: [moved, log] })
    expect([manifest.logs, Object.values(logs)]).to.deep.equal([1, [textOf(lines.slice(0, 2)), textOf(lines.slice(2))]])
    await expectRefused([log, moved], `there is no tree ${moved}.tree: name moved files before their log`)
  })

  it('has no log and no file of a log twice', async () => {
    await expectRefused([log, log], `${log} has the tree of another log that is named`)
    const copy = join(folder, 'copy.log')
    await cp(log, copy)
    await cp(`${log}.tree`, `${copy}.tree`, { recursive: true })
    await expectRefused([copy, log], `${log} has the tree of another log that is named`)
    await expectRefused(
      [`${log}.1`, log],
      `two of the files that are named with ${log} are the same: name each log once`,
    )
  })

  it('is read again with an added file of any size', async () => {
    const large = join(folder, 'large.csv')
    const bytes = 64 * 1024 * 1024 + 1
    await writeFile(large, Buffer.alloc(bytes))
    const { parts } = await exported({ added: [large] })
    expect(parts.get('added/large.csv')?.length).to.equal(bytes)
  })

  async function expectRefused(logs: readonly string[], why: string): Promise<void> {
    const error = await exported({ logs }).catch((reason: Error) => reason)
    expect(error).to.have.property('name', 'ToolError')
    expect(error).to.have.property('message').that.contains(why)
  }

  it('has a tree as it is at one moment, although a server signs between two looks at it', async () => {
    const own = join(folder, 'own.log')
    const sign = async (some: readonly string[]) => {
      await writeFile(own, textOf(some))
      const database = { checkpointOf: async () => undefined, keepCheckpoint: async () => undefined }
      const options = { file: own, keep: 1, instance: 'one', now: () => new Date(), report: () => undefined }
      await startLogTree({ ...options, database }).close()
    }
    await sign(lines.slice(0, 3))
    await cp(`${own}.tree`, join(folder, 'before'), { recursive: true })
    await sign(lines)
    await rename(`${own}.tree`, join(folder, 'then'))
    await rename(join(folder, 'before'), `${own}.tree`)
    let signed = 0
    const { readdir: look } = files
    const looks = async (...[path, options]: Parameters<typeof look>) => {
      const found = await look(path, options)
      // The tile of before is removed only after the checkpoint stands there.
      if (path === `${own}.tree` && signed++ === 0) await cp(join(folder, 'then'), path, { recursive: true })
      return found
    }
    Object.assign(files, { readdir: looks })
    syncBuiltinESMExports()
    try {
      const { parts } = await exported({ logs: [own] })
      expect(signed, 'looks').to.equal(2)
      expect(String(parts.get('log/1/tree/checkpoint')).split('\n')[1]).to.equal('5')
      expect([...parts.keys()]).to.include('log/1/tree/tile/0/000.p/5')
    } finally {
      Object.assign(files, { readdir: look })
      syncBuiltinESMExports()
    }
  })

  describe('and a signal', () => {
    let env: Record<string, string>
    let place: string
    beforeEach(async () => {
      const of = (name: string) => join(server.folder, name)
      place = await mkdtemp(join(root, 'place-'))
      await mkdir(join(place, 'tmp'))
      env = { DATA_DIR: of('data'), POLICIES: of('policies'), SCHEMAS: of('schemas'), TMPDIR: join(place, 'tmp') }
    })

    const exporting = () => [
      'evidence',
      'export',
      '--period',
      new Date().toISOString().slice(0, 4),
      '--out',
      'evidence',
    ]

    /** Sends the signal once the command has a folder of its own. */
    async function stopped(args: readonly string[], where: string, by: NodeJS.Signals = 'SIGTERM') {
      const options = { cwd: place, env: { ...process.env, ...env }, stdio: 'ignore' } as const
      const child = endWithTests(spawn(process.execPath, [LAUNCHER, ...args], options))
      const ended = once(child, 'close')
      const isBegun = async () => (await readdir(where)).some((name) => name.endsWith('.partial'))
      await until(async () => child.exitCode !== null || (await isBegun()))
      child.kill(by)
      return (await ended)[0]
    }

    it('leave nothing beside the file, which is not there', async () => {
      expect(await stopped(exporting(), place)).to.equal(2)
      await until(async () => (await readdir(place)).length === 1)
      expect(await readdir(place)).to.deep.equal(['tmp'])
      // The negative control.
      const { code, stderr } = await startSallyport(exporting(), { env, cwd: place })
      expect(code, stderr).to.equal(0)
      expect(await readdir(place)).to.have.members(['tmp', 'evidence'])
      expect(await readdir(env.TMPDIR ?? '')).to.deep.equal([])
    })

    it('leave nothing of a file that is verified', async () => {
      const { code, stderr } = await startSallyport(exporting(), { env, cwd: place })
      expect(code, stderr).to.equal(0)
      // A busy machine may verify it before the signal comes.
      let ended: number | null = 0
      await until(async () => {
        ended = await stopped(['evidence', 'verify', 'evidence'], env.TMPDIR ?? '')
        expect(await readdir(env.TMPDIR ?? '')).to.deep.equal([])
        return ended === 2
      })
      await until(async () => {
        await stopped(['evidence', 'verify', 'evidence'], env.TMPDIR ?? '', 'SIGKILL')
        return (await readdir(env.TMPDIR ?? '')).length > 0
      })
      const next = await startSallyport(['evidence', 'verify', 'evidence'], { env, cwd: place })
      expect([next.code, await readdir(env.TMPDIR ?? '')], 'what a killed one left').to.deep.equal([0, []])
    })

    it('or a full disk leave nothing', async () => {
      const hook = `
        import fs from 'node:fs/promises'
        import { syncBuiltinESMExports } from 'node:module'
        const { open } = fs
        fs.open = (path, ...args) => {
          if (!String(path).endsWith('.partial/evidence')) return open(path, ...args)
          throw Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'write' })
        }
        syncBuiltinESMExports()
      `
      const full = { ...env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` }
      const { code, stderr } = await startSallyport(exporting(), { env: full, cwd: place })
      const where = `the disk of \`${place}\` is full; make room, or name a place on another disk`
      expect([code, stderr]).to.deep.equal([2, `sallyport: ${where}\n`])
      expect(await readdir(place)).to.deep.equal(['tmp'])
    })
  })
})
