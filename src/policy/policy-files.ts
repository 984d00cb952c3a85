/** The files of a policy directory: which there are, reading them, and the revision that their content has. */
import { createHash } from 'node:crypto'
import { lstat, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Diagnostic, FileError } from '../problems/diagnostic.ts'
import { isSamePlace, type Place, placeOf, sourceOf } from './place.ts'

const NAMES = ['model.conf', 'policy.csv', 'roles.yaml', 'ownership.yaml', 'views.yaml', 'limits.yaml'] as const
/** May be absent. */
const MASKS = 'masks.yaml'
const BLOCKED = 'blocked.txt'

/** Those that every policy has. */
export type RequiredFileName = (typeof NAMES)[number]
export type PolicyFileName = RequiredFileName | typeof MASKS
/** Those that a revision of the rules is made of: all but blocked.txt. */
export const RULE_FILES: readonly PolicyFileName[] = [...NAMES, MASKS]
export const BLOCKED_FILE = BLOCKED
export const POLICY_FILES: readonly string[] = [...RULE_FILES, BLOCKED]

/** How often a directory may move under its reader before the reading fails. */
const MOST_READINGS = 20

/** A text file and the name that diagnostics call it by. */
export interface SourceFile {
  readonly name: string
  readonly text: string
}

export type PolicyFiles = Readonly<Record<RequiredFileName, SourceFile> & Partial<Record<typeof MASKS, SourceFile>>>

/** A content hash: 16 hexadecimal digits. */
export type Revision = string & { readonly __brand: 'Revision' }

/**
 * Reads all files that rules depend on, whole: also while `policy apply` or somebody else swaps them. Throws FileError,
 * naming every file that is missing or isn't UTF-8.
 */
export async function readPolicyFiles(directory: string): Promise<PolicyFiles> {
  return (await readPolicyInPlace(directory)).files
}

/** The same, and where the directory was: all files are of that one place. */
export async function readPolicyInPlace(
  directory: string,
): Promise<{ readonly files: PolicyFiles; readonly place: Place }> {
  for (let reading = 1; ; reading++) {
    const place = await placeOf(directory)
    const read = await Promise.all(RULE_FILES.map((name) => readInPlace(place, name)))
    const ofOneVersion = read.every(({ versioned }) => versioned)
    if (ofOneVersion || isSamePlace(place, await placeOf(directory))) return { files: filesOf(read), place }
    if (reading === MOST_READINGS) throw moving(directory)
  }
}

interface Reading {
  readonly file: PolicyFileName
  /** Undefined for a file that may be absent, and is. */
  readonly result: PromiseSettledResult<SourceFile | undefined>
  /** Whether it was read from the version in force, which nothing can exchange for another. */
  readonly versioned: boolean
}

async function readInPlace(place: Place, file: PolicyFileName): Promise<Reading> {
  const { path, versioned } = await sourceOf(place, file)
  const absent = file === MASKS && (await isMissing(path))
  const reading = absent ? undefined : readSource(join(place.directory, file), file, path)
  const [result] = await Promise.allSettled([reading])
  return { file, result, versioned }
}

/** A link that leads nowhere is somebody's file, and so is one that can't be looked at: neither may count as none. */
async function isMissing(path: string): Promise<boolean> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => error)
  return found instanceof Error && found.code === 'ENOENT'
}

function filesOf(read: readonly Reading[]): PolicyFiles {
  const failed = read.flatMap(({ result }) => (result.status === 'rejected' ? diagnosticsOf(result.reason) : []))
  if (failed.length > 0) throw new FileError(failed)
  const found = read.flatMap(({ file, result }) => {
    return result.status === 'fulfilled' && result.value ? [[file, result.value] as const] : []
  })
  return Object.fromEntries(found) as unknown as PolicyFiles
}

function moving(directory: string): FileError {
  const message = 'the files were exchanged again and again while they were read'
  return new FileError([{ file: directory, line: 1, column: 1, code: 'file-unreadable', severity: 'error', message }])
}

/** Reads blocked.txt, which is in force even while other files are broken. Throws FileError. */
export function readBlockedFile(directory: string): Promise<SourceFile> {
  return readSource(join(directory, BLOCKED), BLOCKED)
}

/** The same content, whatever the directory, has the same revision. */
export function revisionOf(files: PolicyFiles, blocked: SourceFile): Revision {
  const content = new Map(
    RULE_FILES.flatMap((name) => {
      const text = files[name]?.text
      return text === undefined ? [] : [[name, Buffer.from(text)] as const]
    }),
  )
  return revisionOfContent(content, blocked.text)
}

/** `content`: the bytes of the files, by their names; what isn't in it counts as empty, or as absent where it may be. */
export function revisionOfContent(content: ReadonlyMap<string, Uint8Array>, blocked: string): Revision {
  const hash = createHash('sha256')
  for (const bytes of [...NAMES.map((name) => content.get(name) ?? NOTHING), Buffer.from(blocked)]) {
    hash.update(`${bytes.length}\n`).update(bytes)
  }
  const masks = content.get(MASKS)
  if (masks) hash.update(`${MASKS} ${masks.length}\n`).update(masks)
  return hash.digest('hex').slice(0, 16) as Revision
}

const NOTHING = new Uint8Array()

/** `name` is what people call the file, `path` where it is. */
async function readSource(name: string, file: string, path: string = name): Promise<SourceFile> {
  const fault = (code: string, message: string, hint: string) =>
    new FileError([{ file: name, line: 1, column: 1, code, severity: 'error', message, hint }])
  let bytes: Buffer
  try {
    // Reading a pipe or a device might never end.
    const found = await stat(path).catch(() => undefined)
    if (found && !found.isFile()) throw new Error('it is not a regular file')
    bytes = await readFile(path)
  } catch (error) {
    const why = (error as Error).message.replaceAll(path, name)
    throw fault('file-unreadable', `the file can't be read: ${why}`, `a policy needs ${file}`)
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
