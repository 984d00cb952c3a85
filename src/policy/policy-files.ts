/** The files of a policy directory: which there are, reading them, and the revision that their content has. */
import { createHash } from 'node:crypto'
import { readFile, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Diagnostic, FileError } from '../problems/diagnostic.ts'

const NAMES = ['model.conf', 'policy.csv', 'roles.yaml', 'ownership.yaml', 'views.yaml', 'limits.yaml'] as const
const BLOCKED = 'blocked.txt'

/** The link to the version in force, where versions are applied; the policy files are links through it. */
export const CURRENT = '.current'

export type PolicyFileName = (typeof NAMES)[number]
export const POLICY_FILES: readonly string[] = [...NAMES, BLOCKED]

/** A text file and the name that diagnostics call it by. */
export interface SourceFile {
  readonly name: string
  readonly text: string
}

export type PolicyFiles = Readonly<Record<PolicyFileName, SourceFile>>

/** A content hash: 16 hexadecimal digits. */
export type Revision = string & { readonly __brand: 'Revision' }

/**
 * Reads all files that rules depend on, all of the same version where versions are applied. Throws FileError, naming every
 * file that is missing or isn't UTF-8.
 */
export async function readPolicyFiles(directory: string): Promise<PolicyFiles> {
  for (;;) {
    const version = await versionOf(directory)
    const read = await Promise.allSettled(NAMES.map((name) => readSource(directory, name)))
    // A version that took over meanwhile is read from the beginning; there is no end of new ones.
    if ((await versionOf(directory)) === version) return filesOf(read)
  }
}

/** The version that the files of a directory belong to; undefined where none was applied (src/release/layout.ts). */
export function versionOf(directory: string): Promise<string | undefined> {
  return readlink(join(directory, CURRENT)).catch(() => undefined)
}

function filesOf(read: readonly PromiseSettledResult<SourceFile>[]): PolicyFiles {
  const failed = read.flatMap((result) => (result.status === 'rejected' ? diagnosticsOf(result.reason) : []))
  if (failed.length > 0) throw new FileError(failed)
  return Object.fromEntries(
    read.map((result, i) => [NAMES[i], result.status === 'fulfilled' ? result.value : undefined]),
  ) as unknown as PolicyFiles
}

/** Reads blocked.txt, which is in force even while other files are broken. Throws FileError. */
export function readBlockedFile(directory: string): Promise<SourceFile> {
  return readSource(directory, BLOCKED)
}

/** The same content, whatever the directory, has the same revision. */
export function revisionOf(files: PolicyFiles, blocked: SourceFile): Revision {
  const content = new Map(NAMES.map((name) => [name, Buffer.from(files[name].text)]))
  return revisionOfContent(content, blocked.text)
}

/** `content`: the bytes of the files, by their names; what isn't in it counts as empty. */
export function revisionOfContent(content: ReadonlyMap<string, Uint8Array>, blocked: string): Revision {
  const hash = createHash('sha256')
  for (const bytes of [...NAMES.map((name) => content.get(name) ?? NOTHING), Buffer.from(blocked)]) {
    hash.update(`${bytes.length}\n`).update(bytes)
  }
  return hash.digest('hex').slice(0, 16) as Revision
}

const NOTHING = new Uint8Array()

async function readSource(directory: string, file: string): Promise<SourceFile> {
  const name = join(directory, file)
  const fault = (code: string, message: string, hint: string) =>
    new FileError([{ file: name, line: 1, column: 1, code, severity: 'error', message, hint }])
  let bytes: Buffer
  try {
    // Reading a pipe or a device might never end.
    const found = await stat(name).catch(() => undefined)
    if (found && !found.isFile()) throw new Error('it is not a regular file')
    bytes = await readFile(name)
  } catch (error) {
    throw fault('file-unreadable', `the file can't be read: ${(error as Error).message}`, `a policy needs ${file}`)
  }
  try {
    return { name, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    throw fault('not-utf8', 'the file is not UTF-8', 'save it as UTF-8 without a byte order mark')
  }
}

function diagnosticsOf(error: unknown): readonly Diagnostic[] {
  if (error instanceof FileError) return error.diagnostics
  throw error
}
