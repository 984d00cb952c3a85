/**
 * Reads OLD and NEW of a diff: a directory, a published version, or a git revision, whose files are put into a temporary
 * directory.
 */
import { stat } from 'node:fs/promises'
import { posix, relative, resolve, sep } from 'node:path'
import { FileError } from '../../base/diagnostic.ts'
import { POLICY_FILES } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'
import { type LoadedPolicy, loadPolicy, type PolicyPlace, ToolError } from '../load-policy.ts'
import { withTemporaryFiles } from '../temporary-files.ts'
import { askGit, commitOf, gitText } from './git.ts'

/** Which files of a folder are read, and where the folder is if a name doesn't say it. */
export interface FolderOf<T> {
  readonly of: 'policy' | 'schema'
  /** The folder in the working tree. */
  readonly usual: string
  readonly isFile: (name: string) => boolean
  /** `shown`: the folder as the user knows it. */
  readonly load: (directory: string, shown: string) => Promise<T>
}

/** A directory of that name would pass for the commit that a workflow names. */
const FULL_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

/** A policy of a directory, of a published version or of a git revision (readFolder). */
export async function readSide(name: PolicyPlace, policies: string, resources: Resources): Promise<LoadedPolicy> {
  if (typeof name !== 'string') return loadPolicy(name, resources)
  const load = (directory: string) => loadPolicy(directory, resources)
  return readFolder(name, { of: 'policy', usual: policies, isFile: (file) => POLICY_FILES.includes(file), load })
}

/**
 * `name`: a directory, or anything that git accepts as a commit, optionally followed by `:path/to/files` from the
 * repository's top. Without a path the files are read from the usual folder. A directory wins over a revision with
 * the same name, but not over the full id of a commit. Throws ToolError, and FileError (with places in `name`) for
 * files that the server would refuse.
 */
export async function readFolder<T>(name: string, folder: FolderOf<T>): Promise<T> {
  if (!FULL_ID.test(name) && (await stat(name).catch(() => undefined))?.isDirectory()) return folder.load(name, name)
  const location = await locate(name, folder.usual)
  const shown = `${withoutPath(name)}:${location.path}`
  return withTemporaryFiles(await readFiles(name, location, folder), (directory) =>
    folder.load(directory, shown).catch((error) => {
      throw error instanceof FileError ? renameFiles(error, directory, shown) : error
    }),
  )
}

interface Repository {
  /** Where git runs. */
  readonly folder: string
  /** From the repository's top to `folder`; empty at the top. */
  readonly prefix: string
}

interface Location {
  readonly repository: Repository
  readonly commit: string
  /** From the repository's top; empty for the top itself. */
  readonly path: string
}

async function locate(name: string, policies: string): Promise<Location> {
  const repository = await repositoryOf(name, policies)
  const commit = await commitOf(repository.folder, name)
  if (commit !== undefined) return { repository, commit, path: defaultPath(name, repository, policies) }
  const { revision, path } = split(name)
  const before = path === undefined ? undefined : await commitOf(repository.folder, revision)
  if (before === undefined || path === undefined) {
    throw new ToolError(
      `\`${name}\` is neither a directory nor a commit of the git repository \`${repository.folder}\`: name one`,
    )
  }
  return { repository, commit: before, path: path.replace(/\/+$/, '') }
}

/** The repository around the folder of policies, or otherwise around the working directory. */
async function repositoryOf(name: string, policies: string): Promise<Repository> {
  let reason = ''
  for (const folder of [resolve(policies), process.cwd()]) {
    const answer = await askGit(folder, ['rev-parse', '--show-prefix'])
    if (answer.kind === 'answer') return { folder, prefix: gitText(answer).replace(/\n$/, '') }
    reason = answer.reason
  }
  throw new ToolError(
    `\`${name}\` is not a directory, and there is no git repository to look for a commit (${reason}): name a directory`,
  )
}

function defaultPath(name: string, { folder, prefix }: Repository, policies: string): string {
  const path = posix.join(prefix, relative(folder, resolve(policies)).replaceAll(sep, '/'))
  if (path === '..' || path.startsWith('../')) {
    throw new ToolError(
      `\`${policies}\` is outside the repository: write the path within the repository, as in \`${name}:policies\``,
    )
  }
  return path === '.' ? '' : path.replace(/\/+$/, '')
}

/** Splits at the first colon outside braces: `HEAD^{/fix: it}` has one inside. */
function split(name: string): { readonly revision: string; readonly path: string | undefined } {
  const { revision = name, path } = /^(?<revision>(?:[^:{]|\{[^}]*\})+):(?<path>.*)$/s.exec(name)?.groups ?? {}
  return { revision, path }
}

function withoutPath(name: string): string {
  return split(name).revision
}

async function readFiles(
  name: string,
  { repository, commit, path }: Location,
  folder: Omit<FolderOf<unknown>, 'load'>,
): Promise<ReadonlyMap<string, Buffer>> {
  const tree = await askGit(repository.folder, ['ls-tree', '-z', '--full-tree', `${commit}:${path}`])
  const where = path === '' ? 'its top' : `\`${path}\``
  const example = folder.of === 'policy' ? 'policies' : 'schemas'
  const other = `name another folder, as in \`${withoutPath(name)}:${example}\``
  if (tree.kind === 'refused') throw new ToolError(`\`${withoutPath(name)}\` has no folder ${where}: ${other}`)
  const blobs = blobsOf(gitText(tree), folder.isFile)
  if (blobs.size === 0) throw new ToolError(`\`${withoutPath(name)}\` has no ${folder.of} files in ${where}: ${other}`)
  const files = new Map<string, Buffer>()
  for (const [file, id] of [...blobs, ...(await commandsOf(repository.folder, `${commit}:${path}`, folder))]) {
    const blob = await askGit(repository.folder, ['cat-file', 'blob', id])
    if (blob.kind === 'refused') throw new ToolError(`git can't read \`${file}\` of \`${name}\`: ${blob.reason}`)
    files.set(file, blob.bytes)
  }
  return files
}

/** Those of the folder `commands` in the one of schemas. */
async function commandsOf(
  repository: string,
  place: string,
  { of, isFile }: Pick<FolderOf<unknown>, 'of' | 'isFile'>,
): Promise<readonly (readonly [string, string])[]> {
  if (of !== 'schema') return []
  const inside = `${place}${place.endsWith(':') ? '' : '/'}commands`
  const tree = await askGit(repository, ['ls-tree', '-z', '--full-tree', inside])
  if (tree.kind === 'refused') return []
  return [...blobsOf(gitText(tree), isFile)].map(([file, id]) => [`commands/${file}`, id] as const)
}

/** The wanted files of `git ls-tree -z`, without symbolic links. */
function blobsOf(tree: string, isFile: (name: string) => boolean): ReadonlyMap<string, string> {
  const entries = tree.split('\0').map((entry) => /^100\d{3} blob (?<id>[0-9a-f]+)\t(?<file>.*)$/s.exec(entry)?.groups)
  return new Map(
    entries.flatMap((entry) => {
      const { id, file } = entry ?? {}
      return id !== undefined && file !== undefined && isFile(file) ? [[file, id] as const] : []
    }),
  )
}

/** The same faults, with the file names of git. */
function renameFiles({ diagnostics, more }: FileError, directory: string, place: string): FileError {
  const rename = (text: string) => text.replaceAll(directory + sep, place.endsWith(':') ? place : `${place}/`)
  return new FileError(
    diagnostics.map((one) => ({ ...one, file: rename(one.file), message: rename(one.message) })),
    more,
  )
}
