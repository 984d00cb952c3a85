/** One command at a time changes a policy directory, whichever container it runs in, and a killed one keeps nothing. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { ToolError } from '../../src/tools/load-policy.ts'
import { withLock } from '../../src/tools/release/folder/lock.ts'
import { endNow } from '../ends-with-tests.ts'
import { AS_NOBODY, NOBODY } from '../nobody.ts'
import { policy } from './command.ts'
import { Folders } from './fixture.ts'

const CHILD = new URL('under-lock.ts', import.meta.url).pathname
/** A process with the number 1, as in a container. */
const CONTAINED = ['unshare', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']), '--pid', '--fork']
const CONTENDERS = 4
const TIMES = 50

describe('the lock of a policy directory', () => {
  let folders: Folders
  const running: ChildProcess[] = []
  beforeEach(async () => {
    folders = await Folders.make()
  })
  afterEach(async () => {
    for (const child of running.splice(0)) await endNow(child)
    await folders.remove()
  })

  async function started(prefix: readonly string[], ...args: readonly string[]): Promise<ChildProcess> {
    const [program = '', ...rest] = [...prefix, process.execPath, CHILD, ...args]
    const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
    running.push(child)
    await once(child.stdout as NonNullable<typeof child.stdout>, 'data')
    return child
  }
  const block = () => policy(['block', 'user:eve'], { POLICIES: folders.live })
  const blockAsNobody = async () => {
    const command = [...AS_NOBODY, process.execPath, 'bin/sallyport.js']
    const { code, stderr } = await policy(['block', 'user:eve'], { POLICIES: folders.live }, command)
    return [code, stderr]
  }
  const locks = async () => (await readdir(folders.live)).filter((name) => name.startsWith('.'))

  for (const [where, prefix] of [
    ['beside it', []],
    ['with a process number of its own container', [...CONTAINED, '--kill-child=SIGKILL']],
  ] as const) {
    it(`refuses a second command while one ${where} runs, and is free once that one is killed`, async () => {
      const holder = await started(prefix, 'hold', folders.live)
      const before = await readFile(join(folders.live, 'blocked.txt'), 'utf8')
      const { code, stdout, stderr } = await block()
      expect([code, stdout]).to.deep.equal([2, ''])
      expect(stderr).to.equal(
        `sallyport: another command is changing the policies of ${folders.live}: try again when it has ended\n`,
      )
      expect(await readFile(join(folders.live, 'blocked.txt'), 'utf8')).to.equal(before)
      holder.kill('SIGKILL')
      await once(holder, 'close')
      expect(await locks()).to.deep.equal(['.lock'])
      expect((await block()).stdout).to.equal('user:eve is blocked.\n')
      expect(await locks()).to.deep.equal([])
    })
  }

  async function counted(way: 'count' | 'count-unlocked'): Promise<number> {
    await writeFile(join(folders.live, 'count'), '0')
    const all = await Promise.all(
      Array.from({ length: CONTENDERS }, () => started([], way, folders.live, String(TIMES))),
    )
    const ends = all.map((child) => once(child, 'close'))
    for (const child of all) child.stdin?.write('go\n')
    expect((await Promise.all(ends)).map(([code]) => code)).to.deep.equal(all.map(() => 0))
    return Number(await readFile(join(folders.live, 'count'), 'utf8'))
  }

  it('lets none of several processes lose what another wrote, though each removes the file', async () => {
    expect(await counted('count')).to.equal(CONTENDERS * TIMES)
    expect(await locks()).to.deep.equal([])
  })

  it('would be missed: without it, what others wrote is lost', async () => {
    expect(await counted('count-unlocked')).to.be.below(CONTENDERS * TIMES)
  })

  it('follows no link, whose target SQLite could write into', async () => {
    const target = join(folders.live, 'target')
    await writeFile(target, '')
    await symlink(target, join(folders.live, '.lock'))
    const { code, stderr } = await block()
    expect([code, stderr]).to.deep.equal([2, `sallyport: ${folders.live}/.lock is a symbolic link: delete it\n`])
    expect(await readFile(target, 'utf8')).to.equal('')
  })

  it('of a killed command of another user is named, and whoever may write the directory deletes it', async () => {
    await chmod(folders.root, 0o755)
    execFileSync('chown', ['-R', String(NOBODY), folders.live])
    const file = join(folders.live, '.lock')
    await writeFile(file, '')
    const refused = await blockAsNobody()
    expect(refused).to.deep.equal([
      2,
      `sallyport: ${file} is of another user's command, and this user can't open it (permission denied): ` +
        'delete it when no command is changing the policies\n',
    ])
    execFileSync('env', [...AS_NOBODY, 'rm', '-f', file])
    expect(await blockAsNobody()).to.deep.equal([0, ''])
    // Whoever may not write the directory may not delete it either.
    await writeFile(file, '')
    await chmod(folders.live, 0o555)
    const [code, stderr] = await blockAsNobody()
    expect([code, stderr]).to.deep.equal([
      2,
      `sallyport: ${folders.live} can't be written (permission denied): run the command as a user who may write there\n`,
    ])
  })

  it('is refused in one sentence where SQLite can not open the file', async () => {
    // Longer than the paths of SQLite may be.
    const deep = join(folders.live, ...Array.from({ length: 3 }, () => 'd'.repeat(200)))
    await mkdir(deep, { recursive: true })
    const error = await withLock(deep, async () => undefined).catch((thrown) => thrown)
    expect(error).to.be.instanceOf(ToolError)
    expect(error.message).to.include("/.lock can't be locked (unable to open database file): let this user read it")
  })

  it('of an earlier version is named, and whoever reads this removes it', async () => {
    await writeFile(join(folders.live, '.lock'), '1 5f0c0d1e\n')
    const { code, stderr } = await block()
    expect([code, stderr]).to.deep.equal([
      2,
      `sallyport: ${folders.live}/.lock is of an earlier version of Sallyport: ` +
        'delete it when no command of that version is running\n',
    ])
  })
})
