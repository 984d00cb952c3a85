/** What a killed backup or restore of another user left keeps nobody from a backup, and is named with what to do. */
import { execFile, execFileSync } from 'node:child_process'
import { chmod, chown, cp, mkdir, readdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { AS_NOBODY, NOBODY } from '../nobody.ts'
import { type Commands, LAUNCHER, startCommands } from './commands.ts'

/** Larger than the numbers of processes may be. */
const ENDED = 4_194_305

describe('what another user left', () => {
  let commands: Commands
  let folder: string
  /** The settings of a server of the user without rights. */
  let env: NodeJS.ProcessEnv
  before(async () => {
    commands = await startCommands()
    folder = commands.folder
    await chmod(folder, 0o755)
    const { PATH, ...own } = commands.environment
    const copies = Object.entries(own).map(([name, from]) => [name, from, join(folder, `of-nobody-${name}`)] as const)
    for (const [, from, to] of copies) await cp(from ?? '', to, { recursive: true })
    for (const [, , to] of copies) execFileSync('chown', ['-R', `${NOBODY}`, to])
    env = { PATH, ...Object.fromEntries(copies.map(([name, , to]) => [name, to])) }
  })
  after(() => commands.stop())

  function asNobody(...args: readonly string[]): Promise<readonly [unknown, string]> {
    const [file = '', ...words] = [...AS_NOBODY, process.execPath, LAUNCHER, ...args]
    return new Promise((resolve) => {
      execFile(file, words, { cwd: folder, env }, (error, _, stderr) => resolve([error?.code ?? 0, stderr]))
    })
  }

  /** A folder of the user without rights, in which root left something. */
  async function place(name: string, of: string) {
    const made = join(folder, name)
    const left = join(made, `.${of}.${hostname().replace(/[^A-Za-z0-9-]/g, '-')}-${ENDED}.partial`)
    await mkdir(left, { recursive: true, mode: 0o700 })
    await writeFile(join(left, 'a part'), '')
    await chown(made, NOBODY, NOBODY)
    return { made, left }
  }

  it('is told by a backup, which is made', async () => {
    const { made, left } = await place('backups', 'a.tar')
    expect(await asNobody('backup', join(made, 'a.tar'))).to.deep.equal([
      0,
      `A backup of another user was ended, and only that user can remove it: ${left}\n`,
    ])
    expect((await readdir(made)).toSorted()).to.deep.equal([left.slice(made.length + 1), 'a.tar'].toSorted())
  })

  it('is named by a restore, which is not made there', async () => {
    expect((await commands.run(['backup', 'b.tar'])).code).to.equal(0)
    await chmod(join(folder, 'b.tar'), 0o644)
    const { made, left } = await place('restored', 'restore')
    expect(await asNobody('restore', 'b.tar', made)).to.deep.equal([
      2,
      `sallyport: \`${left}\` is left by a restore of another user: remove it as that user, or name another folder\n`,
    ])
  })
})
