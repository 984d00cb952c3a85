/** A project in a git repository of its own, and the commands that change it. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { makeProject } from '../../src/tools/project/make-project.ts'
import { sallyport } from '../command.ts'
import { removeFolder, removeWithTests } from '../ends-with-tests.ts'
import { withRules } from '../policy-text.ts'
import type { Ran } from '../project/projects.ts'

const ROOT = new URL('../..', import.meta.url).pathname

export interface Repository {
  readonly folder: string
  /** Where the project is; the repository's top, or a folder in it. */
  readonly project: string
  readonly env: NodeJS.ProcessEnv
  git(...args: readonly string[]): string
  /** Lets a member read every user, which no matrix states. */
  openHole(): Promise<void>
  remove(): Promise<void>
}

/** `inside`: the folder of the project; empty for the top. Nothing is committed yet. */
export async function openRepository(inside = ''): Promise<Repository> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-repository-'))
  const project = join(folder, inside)
  const env = await environment(folder)
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'init.defaultBranch=main', ...args], { cwd: folder, env, encoding: 'utf8' })
  git('init', '--quiet')
  await cp(await madeOnce(), project, { recursive: true })
  // As npm would install it.
  await mkdir(join(project, 'node_modules/.bin'), { recursive: true })
  const bin = join(project, 'node_modules/.bin/sallyport')
  await writeFile(bin, `#!/bin/sh\nexec '${process.execPath}' '${ROOT}bin/sallyport.js' "$@"\n`, { mode: 0o755 })
  return {
    folder,
    project,
    env,
    git,
    openHole: async () => {
      const file = join(project, 'policies/policy.csv')
      await writeFile(file, withRules(await readFile(file, 'utf8'), 'p, member, users, list|read, any, *, allow'))
    },
    remove: () => removeFolder(folder),
  }
}

let made: Promise<string> | undefined

/** A new project, which tests copy. */
function madeOnce(): Promise<string> {
  const make = async () => {
    const folder = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-made-')))
    await makeProject(join(folder, 'api'), { name: 'api', demo: false, tenants: false })
    return join(folder, 'api')
  }
  made ??= make()
  return made
}

/** Runs the program in the project, or in a folder of it. */
export function sallyportIn(cwd: string, env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<Ran> {
  const unset = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]))
  return sallyport(args, { cwd, env: { ...unset, ...env } })
}

/** A git without settings of this machine, and the Node of these tests. */
async function environment(folder: string): Promise<NodeJS.ProcessEnv> {
  const home = join(folder, '.git/home')
  await mkdir(home, { recursive: true })
  await writeFile(join(home, '.gitconfig'), '[user]\n\tname = Ann\n\temail = ann@example.org\n')
  await chmod(home, 0o700)
  const kept = Object.entries(process.env).filter(([name]) => !/^(GIT_|GITHUB_|CI$)/.test(name))
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
  return { ...Object.fromEntries(kept), HOME: home, PATH, GIT_CONFIG_NOSYSTEM: '1' }
}
