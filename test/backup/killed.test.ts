/** `sallyport backup` and `restore` that are killed: what is called whole is whole, and the next command says what is left. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { soak } from '../runs.ts'
import { type Commands, LAUNCHER, startCommands } from './commands.ts'

const WHOLE = ['data', 'policies', 'schemas']

/** For the commands: the process kills itself where it would call this function for the nth time, with such a path. */
function killedAt(name: 'link' | 'rename' | 'rm', path: string, nth = 1): Readonly<Record<string, string>> {
  const code = `
    import fs from 'node:fs/promises'
    import { syncBuiltinESMExports } from 'node:module'
    const real = fs.${name}
    let left = ${nth}
    fs.${name} = (path, ...args) => {
      if (String(path).includes('${path}') && --left === 0) process.kill(process.pid, 'SIGKILL')
      return real(path, ...args)
    }
    syncBuiltinESMExports()
  `
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}

describe('a command of backups that is killed', () => {
  let commands: Commands
  let folder: string
  let run: Commands['run']
  let large: Readonly<Record<string, string>>

  before(async () => {
    commands = await startCommands()
    ;({ folder, run } = commands)
    large = { DATA_DIR: await largeData() }
    expect((await run(['backup', 'large.tar'], large)).code).to.equal(0)
  })
  after(() => commands.stop())

  /** Data that takes a moment to copy. */
  async function largeData(): Promise<string> {
    const data = await mkdtemp(join(folder, 'large-'))
    await cp(commands.environment.DATA_DIR ?? '', data, { recursive: true })
    const database = new DatabaseSync(join(data, 'sallyport.db'))
    database.exec('create table padding (bytes blob); insert into padding values (randomblob(20000000))')
    database.close()
    return data
  }

  /** Kills the command some time after it began its work in `place`; with Infinity, it ends by itself. */
  async function kill(args: readonly string[], place: string, afterMs: number, env: object = {}): Promise<void> {
    const options = { cwd: folder, env: { ...commands.environment, ...env }, stdio: 'ignore' } as const
    const child = spawn(process.execPath, [LAUNCHER, ...args], options)
    const ended = once(child, 'close')
    while (child.exitCode === null && !(await isLeft(place))) await sleep(2)
    if (afterMs < Number.POSITIVE_INFINITY) {
      await sleep(afterMs)
      child.kill('SIGKILL')
    }
    await ended
  }

  const isPartial = (name: string) => name.endsWith('.partial')
  const isLeft = async (place: string) => (await readdir(place).catch(() => [])).some(isPartial)
  const placed = async (place: string) => (await readdir(place)).filter((name) => !isPartial(name)).toSorted()

  async function expectWhole(archive: string): Promise<void> {
    const into = await mkdtemp(join(folder, 'whole-'))
    const restored = await run(['restore', archive, into])
    expect(restored.code, restored.stderr).to.equal(0)
    expect((await readdir(into)).toSorted()).to.deep.equal(WHOLE)
    const [there, here] = [join(into, 'data/sallyport.db'), join(large.DATA_DIR ?? '', 'sallyport.db')].map(contentOf)
    expect(there).to.deep.equal(here)
  }

  /** Refused, or whole, with or without a folder that is left; and the next backup is not hindered. */
  async function expectNoHalf(place: string): Promise<'none' | 'whole'> {
    const [archive, left] = [join(place, 'a.tar'), await isLeft(place)]
    const { code, stderr } = await run(['backup', 'verify', archive])
    if (code !== 0) {
      expect([code, left]).to.deep.equal([2, true])
      expect(stderr).to.contain('was ended before it was complete')
    }
    const next = await run(['backup', join(place, code === 0 ? 'b.tar' : 'a.tar')], large)
    const told = code === 0 ? 'after it had made `a.tar`' : 'before it was complete'
    expect(next.code, next.stderr).to.equal(0)
    expect(next.stderr.replace(/^Removed .*: /, '')).to.equal(left ? `a backup was ended ${told}.\n` : '')
    expect(await readdir(place)).to.have.members(code === 0 ? ['a.tar', 'b.tar'] : ['a.tar'])
    await expectWhole(archive)
    return code === 0 ? 'whole' : 'none'
  }

  it('leaves, at any moment of a backup, no archive or a whole one, and the next command says which', async () => {
    const outcomes: string[] = []
    for (const afterMs of soak([0, 120, Number.POSITIVE_INFINITY], [0, Number.POSITIVE_INFINITY])) {
      const place = await mkdtemp(join(folder, 'killed-'))
      await kill(['backup', join(place, 'a.tar')], place, afterMs, large)
      outcomes.push(await expectNoHalf(place))
    }
    expect(outcomes).to.include.members(['none', 'whole'])
  })

  it('leaves a whole archive if all but its own folder was done, and no archive a moment before', async () => {
    for (const [env, outcome] of [
      [killedAt('link', '.partial'), 'none'],
      [killedAt('rm', '.partial'), 'whole'],
    ] as const) {
      const place = await mkdtemp(join(folder, 'moment-'))
      expect((await commands.start(['backup', join(place, 'a.tar')], { ...large, ...env })).code).to.equal('SIGKILL')
      expect(await isLeft(place)).to.equal(true)
      expect(await expectNoHalf(place)).to.equal(outcome)
    }
  })

  /** The next restore makes the folder, or refuses it and says what it holds. */
  async function expectToldOf(into: string): Promise<string> {
    const [before, left] = [await placed(into), await isLeft(into)]
    const { code, stderr } = await run(['restore', 'large.tar', into])
    if (before.length === 0) {
      expect(code, stderr).to.equal(0)
      expect(stderr).to.match(/^Removed .*: a restore was ended before it was complete\.\n$/)
      expect((await readdir(into)).toSorted()).to.deep.equal(WHOLE)
      return 'nothing'
    }
    expect([code, await placed(into)]).to.deep.equal([2, before])
    const isWhole = before.length === WHOLE.length
    const told = !isWhole
      ? 'holds a part of an earlier restore, which was ended; name an empty folder'
      : left
        ? 'is not empty: an earlier restore into it is whole, and left `'
        : 'is not empty; name an empty folder'
    expect(stderr).to.contain(told)
    return isWhole ? 'whole' : 'part'
  }

  it('leaves, at any moment of a restore, nothing, a whole folder or a part, and the next command says which', async () => {
    const outcomes: string[] = []
    for (const afterMs of soak([0, 120, Number.POSITIVE_INFINITY], [0, Number.POSITIVE_INFINITY])) {
      const into = join(folder, `into-${afterMs}`)
      await kill(['restore', 'large.tar', into], into, afterMs)
      outcomes.push(await expectToldOf(into))
    }
    expect(outcomes).to.include.members(['nothing', 'whole'])
  })

  it('leaves a part of a restore that no server starts with, only while the folders are moved', async () => {
    const moments = [
      [killedAt('rename', '.partial'), 'nothing'],
      [killedAt('rename', '.partial', 2), 'part'],
      [killedAt('rename', '.partial', 3), 'part'],
      [killedAt('rm', '.partial'), 'whole'],
    ] as const
    for (const [nth, [env, outcome]] of moments.entries()) {
      const into = join(folder, `moment-${nth}`)
      await mkdir(into)
      expect((await commands.start(['restore', 'large.tar', into], env)).code).to.equal('SIGKILL')
      expect(await isLeft(into)).to.equal(true)
      if (outcome === 'part') expect(await readdir(into)).to.not.include('schemas')
      expect(await expectToldOf(into)).to.equal(outcome)
    }
  })
})

/** How many objects each table has, and whether the large value is the same. */
function contentOf(file: string): readonly unknown[] {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const tables = database
      .prepare("select name from sqlite_master where name like 'objects_%' and type = 'table'")
      .all()
    const counts = tables.map(({ name }) => [name, database.prepare(`select count(*) as n from "${name}"`).get()?.n])
    return [...counts, database.prepare('select hex(substr(bytes, -64)) as bytes from padding').get()?.bytes]
  } finally {
    database.close()
  }
}
