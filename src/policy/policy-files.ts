/** The files of a policy directory: their names, how to read them, and the revision of their content. */

import { createHash } from 'node:crypto'
import { lstat, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SourceFile } from '../base/diagnostic.ts'
import { type Diagnostic, FileError } from '../base/diagnostic.ts'
import { readProjectFile } from '../base/files/project-file.ts'
import {
  BEFORE,
  BLOCKED_FILE,
  filePath,
  findPolicyFolder,
  folderKey,
  isVersioned,
  type PolicyFolder,
} from './policy-folder.ts'
import { unknownFileFault, unknownFiles } from './unknown-files.ts'

export const REQUIRED_FILES = [
  'model.conf',
  'policy.csv',
  'roles.yaml',
  'ownership.yaml',
  'views.yaml',
  'limits.yaml',
] as const
/** These files may be absent. Their order is part of a revision. */
const OPTIONAL = [
  'masks.yaml',
  'conditions.yaml',
  'callers.yaml',
  'guarantees.yaml',
  'approvals.yaml',
  'subscriptions.yaml',
] as const

/** The files that every policy has. */
export type RequiredFileName = (typeof REQUIRED_FILES)[number]
type OptionalFileName = (typeof OPTIONAL)[number]
export type PolicyFileName = RequiredFileName | OptionalFileName
/** The files that make a revision of the rules: all but blocked.txt. */
export const RULE_FILES: readonly PolicyFileName[] = [...REQUIRED_FILES, ...OPTIONAL]
export const POLICY_FILES: readonly string[] = [...RULE_FILES, BLOCKED_FILE]

/** The wait before another reading while a program is writing files. */
const HELD_MS = 15

/** The number of readings before one fails because the directory was never whole. */
const MOST_READINGS = 20

export type PolicyFiles = Readonly<Record<RequiredFileName, SourceFile> & Partial<Record<OptionalFileName, SourceFile>>>

/** Texts of an editor that count in place of the files on disk, by file name. */
export type UnsavedTexts = ReadonlyMap<string, string>

const NONE: UnsavedTexts = new Map()

/** A content hash: 16 hexadecimal digits. */
export type Revision = string & { readonly __brand: 'Revision' }

/** The files of a policy directory at one moment. */
export interface FolderReading {
  /** Throws FileError, which names every file that is missing, isn't UTF-8, or is no file of a policy. */
  files(): PolicyFiles
  /** Throws FileError: blocked.txt is in force even while other files are broken. */
  blocked(): SourceFile
  /** The folder that all files were read from. */
  readonly place: PolicyFolder
  /** New files are being written, or a killed command left them unfinished, so the previous files were read. */
  readonly refusal: Diagnostic | undefined
}

/**
 * Reads all files, whole: also while `policy apply`, Kubernetes or somebody else swaps them. Files that are written one
 * after the other are read again until none changes during a reading. Never rejects. `unsaved` counts in place of files.
 */
export async function readInPlace(directory: string, unsaved: UnsavedTexts = NONE): Promise<FolderReading> {
  for (let reading = 1; ; reading++) {
    const place = await findPolicyFolder(directory, POLICY_FILES)
    if (place.held && reading < MOST_READINGS) {
      await sleep(HELD_MS)
      continue
    }
    const before = await lookOfRules(place)
    const [rules, blocked, unknown] = await Promise.all([
      Promise.all(RULE_FILES.map((name) => readRuleFile(place, name, unsaved))),
      readOne(place, BLOCKED_FILE, unsaved),
      findUnknownFiles(directory),
    ])
    const whole = before === (await lookOfRules(place)) && (await isStillInForce(place))
    if (!whole && reading < MOST_READINGS) continue
    // A program may be about to give a file its name.
    if (unknown.length > 0 && reading < MOST_READINGS) {
      await sleep(HELD_MS)
      continue
    }
    const files = () => (whole ? filesOf(rules, unknown) : moving(directory))
    return {
      files,
      blocked: () => succeeded(blocked),
      place,
      refusal: place.held ? unfinished(directory) : undefined,
    }
  }
}

/** All files that rules depend on. Throws FileError. */
export async function readPolicyFiles(directory: string): Promise<PolicyFiles> {
  return (await readInPlace(directory)).files()
}

/** Reads blocked.txt alone. Throws FileError. */
export async function readBlockedFile(directory: string): Promise<SourceFile> {
  return succeeded(await readOne(await findPolicyFolder(directory, [BLOCKED_FILE]), BLOCKED_FILE, NONE))
}

/** One error for each file of the directory that no part of a policy is read from. */
export async function findUnknownFiles(directory: string): Promise<readonly Diagnostic[]> {
  const names = await unknownFiles(directory, POLICY_FILES)
  if (names.length === 0) return []
  const found = await Promise.all(POLICY_FILES.map((file) => metadataOf(join(directory, file))))
  const present = new Set(POLICY_FILES.filter((_, at) => found[at] !== MISSING))
  return names.map((name) => unknownFileFault(directory, name, { known: POLICY_FILES, present }))
}

const MISSING = 'missing'

/** The metadata of a file as a text; another text means that the file was written or exchanged. */
export async function metadataOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  return found ? `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}` : MISSING
}

/** The state of all files but blocked.txt, those included that a policy can't have; another text is another state. */
export async function lookOfRules(place: PolicyFolder): Promise<string> {
  const [unknown, ...files] = await Promise.all([
    unknownFiles(place.directory, POLICY_FILES),
    ...RULE_FILES.map((name) => metadataOf(filePath(place, name))),
  ])
  return [...files, ...unknown].join('\n')
}

/** Whoever exchanges the files may delete the folder that the links led to. */
async function isStillInForce(place: PolicyFolder): Promise<boolean> {
  return folderKey(place) === folderKey(await findPolicyFolder(place.directory, POLICY_FILES))
}

interface FileReading {
  readonly file: PolicyFileName
  /** Undefined if an optional file is absent. */
  readonly result: PromiseSettledResult<SourceFile | undefined>
}

async function readRuleFile(place: PolicyFolder, file: PolicyFileName, unsaved: UnsavedTexts): Promise<FileReading> {
  if (OPTIONAL.some((name) => name === file) && !unsaved.has(file) && (await isAbsent(place, file))) {
    return { file, result: { status: 'fulfilled', value: undefined } }
  }
  return { file, result: await readOne(place, file, unsaved) }
}

async function readOne(
  place: PolicyFolder,
  file: string,
  unsaved: UnsavedTexts,
): Promise<PromiseSettledResult<SourceFile>> {
  const text = unsaved.get(file)
  if (text !== undefined) return { status: 'fulfilled', value: { name: join(place.directory, file), text } }
  const located = { path: filePath(place, file), folder: place.real }
  const [result] = await Promise.allSettled([readSource(join(place.directory, file), file, located)])
  return result
}

/** A link to nothing, or a file that can't be looked at, is still somebody's file: neither may count as absent. */
async function isAbsent(place: PolicyFolder, file: string): Promise<boolean> {
  if (place.links[file] && !place.held && !isVersioned(place, file)) return false
  const found = await lstat(filePath(place, file)).catch((error: NodeJS.ErrnoException) => error)
  return found instanceof Error && found.code === 'ENOENT'
}

function filesOf(read: readonly FileReading[], unknown: readonly Diagnostic[]): PolicyFiles {
  const unread = read.flatMap(({ result }) => (result.status === 'rejected' ? diagnosticsOf(result.reason) : []))
  const failed = [...unread, ...unknown]
  if (failed.length > 0) throw new FileError(failed)
  const found = read.flatMap(({ file, result }) => {
    return result.status === 'fulfilled' && result.value ? [[file, result.value] as const] : []
  })
  return Object.fromEntries(found) as unknown as PolicyFiles
}

function succeeded<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'rejected') throw result.reason
  return result.value
}

function unfinished(directory: string): Diagnostic {
  const message = 'a `policy apply` has not finished, so the previous files are in force'
  const hint = 'wait for it, or run `sallyport policy apply` or `sallyport policy rollback` again'
  return {
    file: join(directory, BEFORE),
    line: 1,
    column: 1,
    code: 'apply-unfinished',
    severity: 'error',
    message,
    hint,
  }
}

function moving(directory: string): never {
  const message = 'the files kept changing while they were read'
  const hint = 'try again when no program writes them'
  const place = { file: directory, line: 1, column: 1 }
  throw new FileError([{ ...place, code: 'file-unreadable', severity: 'error', message, hint }])
}

/** The same content has the same revision in every directory. */
export function revisionOf(files: PolicyFiles, blocked: SourceFile): Revision {
  const content = new Map(
    RULE_FILES.flatMap((name) => {
      const text = files[name]?.text
      return text === undefined ? [] : [[name, Buffer.from(text)] as const]
    }),
  )
  return revisionOfContent(content, blocked.text)
}

/**
 * `content`: the bytes of the files, by file name; a missing file counts as absent if it is optional, otherwise as
 * empty.
 */
export function revisionOfContent(content: ReadonlyMap<string, Uint8Array>, blocked: string): Revision {
  const hash = createHash('sha256')
  for (const bytes of [...REQUIRED_FILES.map((name) => content.get(name) ?? NOTHING), Buffer.from(blocked)]) {
    hash.update(`${bytes.length}\n`).update(bytes)
  }
  for (const name of OPTIONAL) {
    const bytes = content.get(name)
    if (bytes) hash.update(`${name} ${bytes.length}\n`).update(bytes)
  }
  return hash.digest('hex').slice(0, 16) as Revision
}

const NOTHING = new Uint8Array()

interface FileInFolder {
  readonly path: string
  readonly folder: string
}

/** `name` is the file's name in messages, `path` its place, `folder` the policy directory. */
async function readSource(name: string, file: string, { path, folder }: FileInFolder): Promise<SourceFile> {
  const fault = (code: string, message: string, hint: string) =>
    new FileError([{ file: name, line: 1, column: 1, code, severity: 'error', message, hint }])
  let bytes: Buffer
  try {
    bytes = await readProjectFile(path, folder)
  } catch (error) {
    const why = (error as Error).message.replaceAll(path, name)
    throw fault('file-unreadable', `the file can't be read: ${why}`, `restore it: a policy needs ${file}`)
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
