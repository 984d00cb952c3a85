/** What the next commit will have, in a folder of its own: neither unstaged changes nor untracked files are in it. */

import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join, posix, relative, resolve, sep } from 'node:path'
import { environment } from '../../../base/command-process.ts'
import { askGit, gitText } from '../../diff/git.ts'
import { ToolError } from '../../load-policy.ts'
import { refuseLinksOut } from './inside.ts'

/** Where the project is within its work tree, and the index of the commit. */
interface WorkTree {
  readonly top: string
  /** From the top to the working directory, with a `/` at its end; empty at the top. */
  readonly prefix: string
  /** `git commit -a` and `git commit FILE` have an index of their own, which git names to its hooks. */
  readonly index: string | undefined
}

/**
 * Runs `work` in a copy of the working directory that has the staged files of these folders. Returns undefined, and
 * runs nothing, if no staged change is in them, or if the commit leaves nothing of them. Throws ToolError without a
 * git work tree, and what `work` throws.
 */
export async function withStaged<T>(folders: readonly string[], work: () => Promise<T>): Promise<T | undefined> {
  const tree = await workTree()
  const paths = folders.map((folder) => pathIn(tree, folder))
  const changed = ['diff', '--cached', '--name-only', '-z', '--no-renames', '--no-ext-diff', '--', ...paths]
  if ((await ask(tree, changed)).length === 0) return undefined
  const copy = await realpath(await mkdtemp(join(tmpdir(), 'sallyport-staged-')))
  const before = process.cwd()
  try {
    if (!(await copyInto(copy, tree, paths))) return undefined
    process.chdir(join(copy, tree.prefix))
    return await work()
  } finally {
    process.chdir(before)
    await rm(copy, { recursive: true, force: true })
  }
}

/** Git tells hooks of a linked work tree its GIT_DIR, with which it would take every folder for the top. */
async function workTree(): Promise<WorkTree> {
  const place = await askGit('.', ['rev-parse', '--show-toplevel', '--show-prefix'])
  if (place.kind === 'refused') {
    throw new ToolError(`what is staged can't be read (${place.reason}): run this in a git work tree`)
  }
  const [top = '', prefix = ''] = gitText(place).split('\n')
  const { GIT_INDEX_FILE: index } = environment()
  return { top, prefix, index: index === undefined ? undefined : resolve(top, index) }
}

/** A pathspec for whatever is in the folder; no character of its name is a pattern. */
function pathIn({ prefix }: WorkTree, folder: string): string {
  const path = isAbsolute(folder) ? relative(process.cwd(), folder) : folder
  const whole = posix.join(prefix, path.replaceAll(sep, '/')).replace(/\/+$/, '')
  if (whole === '..' || whole.startsWith('../')) {
    throw new ToolError(`\`${folder}\` is outside the git work tree, so nothing of it is staged: name a folder in it`)
  }
  return `:(top,literal)${whole}`
}

/** False if there is nothing to copy. A file that is only meant to be added (`git add -N`) is not in the commit. */
async function copyInto(copy: string, tree: WorkTree, paths: readonly string[]): Promise<boolean> {
  const written = (await ask(tree, ['write-tree'])).toString('utf8').trim()
  const all = await ask(tree, ['ls-tree', '-r', '-z', '--name-only', '--full-tree', written])
  const known = new Set(all.toString('utf8').split('\0'))
  const staged = (await ask(tree, ['ls-files', '-z', '--cached', '--', ...paths])).toString('utf8').split('\0')
  const names = staged.filter((name) => name !== '' && known.has(name))
  const input = Buffer.from(names.map((name) => `${name}\0`).join(''))
  if (names.length > 0) await ask(tree, ['checkout-index', '-z', '--stdin', `--prefix=${copy}/`], input)
  await refuseLinksOut(
    copy,
    names.map((name) => join(copy, name)),
  )
  return names.length > 0
}

async function ask({ top, index }: WorkTree, args: readonly string[], input?: Buffer): Promise<Buffer> {
  const answer = await askGit(top, args, { index, ...(input ? { input } : {}) })
  if (answer.kind === 'answer') return answer.bytes
  throw new ToolError(`what is staged can't be read (${answer.reason}): fix that, and commit again`)
}
