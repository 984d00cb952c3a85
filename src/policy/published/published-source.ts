/**
 * The published versions as the source of a policy. A version is read whole and verified before anything of it is
 * shown; a refused one leaves the reading before it. The number never goes back. Also what instances report of it.
 */
import { FileError, type SourceFile } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import { type PolicyFiles, revisionOf } from '../policy-files.ts'
import { BLOCKED_FILE } from '../policy-folder.ts'
import type { PolicyReading, PolicySource } from '../policy-source.ts'
import {
  digestOfText,
  type PublishedVersion,
  REPUBLISH,
  refusal,
  type VersionHome,
  type VersionKeys,
  verifyVersion,
  versionFile,
} from './signed-version.ts'

/** What a database keeps of versions (src/store/policy-versions.ts). Every method may reject with StoreUnavailable. */
export interface VersionReader {
  home(): Promise<VersionHome>
  last(): Promise<{ readonly number: number; readonly signed: string } | undefined>
  file(digest: string): Promise<string | undefined>
}

/** What this instance followed before: it takes no older version, and none of another database. */
export interface KeptVersion {
  /** 0 before the first version. */
  readonly sequence: number
  /** The id of the database; undefined if it isn't known. */
  readonly database: string | undefined
}

/** The texts of a version's files, by file name. */
export type VersionTexts = ReadonlyMap<string, string>

export class PublishedSource implements PolicySource {
  readonly #versions: VersionReader
  readonly #keys: VersionKeys
  readonly #followed: KeptVersion
  /** Asked for once: whoever writes to the database can't exchange it while the instance runs. */
  #home: VersionHome | undefined
  /** What was looked at last. */
  #seen: { readonly number: number; readonly signed: string } | undefined
  /** The texts of the last good version, by digest. */
  #texts: ReadonlyMap<string, string> = new Map()
  #reading: (PolicyReading & { readonly sequence: number }) | undefined
  #refused: FileError | undefined

  constructor(versions: VersionReader, keys: VersionKeys, followed: KeptVersion = NEW) {
    this.#versions = versions
    this.#keys = keys
    this.#followed = followed
  }

  /** The id of the database, after a look. */
  get database(): string | undefined {
    return this.#home?.id
  }

  /** Looks for a newer version; true if there is one, good or bad. Rejects with StoreUnavailable. */
  async look(): Promise<boolean> {
    const last = (await this.#versions.last()) ?? NOTHING
    if (this.#hasSeen(last)) return false
    const { number, signed } = last
    this.#home ??= await this.#versions.home()
    try {
      this.#refuseBack(number)
      this.#refuseOther(number, this.#home)
      const version = await verifyVersion(number, signed, this.#keys, this.#home)
      const texts = await readTexts(version, {
        file: async (digest) => this.#texts.get(digest) ?? this.#versions.file(digest),
      })
      this.#reading = readingOf(version, texts)
      this.#texts = new Map(Object.entries(version.files).map(([name, digest]) => [digest, texts.get(name) ?? '']))
      this.#refused = undefined
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      this.#refused = error
    }
    this.#seen = last
    return true
  }

  /** In the place of a refused version, the true one of its number may stand later. */
  #hasSeen({ number, signed }: { readonly number: number; readonly signed: string }): boolean {
    if (number !== this.#seen?.number) return false
    return this.#refused === undefined || signed === this.#seen.signed
  }

  /** Call `look` first. */
  async read(): Promise<PolicyReading> {
    const [refused] = this.#refused?.diagnostics ?? []
    if (this.#reading) return { ...this.#reading, refusal: refused }
    const fail = () => {
      throw this.#refused ?? new Error('no version was looked for')
    }
    return { files: fail, blocked: fail, refusal: refused }
  }

  async readBlocked(): Promise<{ readonly blocked: SourceFile; readonly sequence: number }> {
    if (!this.#reading) throw this.#refused ?? new Error('no version was looked for')
    return { blocked: this.#reading.blocked(), sequence: this.#reading.sequence }
  }

  #refuseBack(number: number): void {
    const present = this.#reading?.sequence ?? this.#followed.sequence
    if (number >= present && number > 0) return
    if (present > 0) throw refusal(present, 'version-missing', 'is no longer in the database', RESTORED)
    throw refusal(1, 'version-missing', 'was not published yet', FIRST)
  }

  #refuseOther(number: number, { id }: VersionHome): void {
    const { database } = this.#followed
    if (database === undefined || database === id) return
    const what = `is in the database ${id}, and this instance followed ${database}`
    throw refusal(number, 'version-database', what, RESTORED)
  }
}

const NEW: KeptVersion = { sequence: 0, database: undefined }
const NOTHING = { number: 0, signed: '' }

const RESTORED =
  'find out who writes to the database; if you changed to an older or another one, delete `policy-sequence` in DATA_DIR'
const FIRST = 'run `sallyport policy apply DIR --to database:`'

/** Throws FileError if the stored files aren't those that were signed. */
export async function readTexts(
  { number, files }: PublishedVersion,
  stored: Pick<VersionReader, 'file'>,
): Promise<VersionTexts> {
  // Asked together, so that they share the way to the database and back.
  const found = await Promise.all(
    Object.entries(files).map(async ([name, digest]) => [name, digest, await stored.file(digest)] as const),
  )
  const texts = new Map<string, string>()
  for (const [name, digest, text] of found) {
    if (text === undefined || digestOfText(text) !== digest) {
      throw refusal(number, 'version-file', `has a file ${name} that was changed after it was signed`, REPUBLISH)
    }
    texts.set(name, text)
  }
  return texts
}

/** Throws FileError if the version has parts that this program doesn't know. */
export function readingOf(
  version: PublishedVersion,
  texts: VersionTexts,
): PolicyReading & { readonly sequence: number } {
  const { number } = version
  const sources = new Map([...texts].map(([name, text]) => [name, { name: versionFile(number, name), text }]))
  const blocked = sources.get(BLOCKED_FILE) ?? { name: versionFile(number, BLOCKED_FILE), text: '' }
  sources.delete(BLOCKED_FILE)
  const files = Object.fromEntries(sources) as unknown as PolicyFiles
  if (revisionOf(files, blocked) !== version.revision) {
    throw refusal(number, 'version-unknown', 'was published by another version of sallyport', 'update this instance')
  }
  return { files: () => files, blocked: () => blocked, refusal: undefined, sequence: number }
}

/** What an instance reports about the published version that it has in force. */
export interface InstanceState {
  /** All versions up to this number are in force. */
  readonly sequence: number
  readonly revision: string
  /** Why a later version isn't in force, a sentence each. */
  readonly faults: readonly string[]
}

/** An instance reports its state every five seconds; without a word for so long, it has ended or has lost the database. */
export const SILENT_AFTER_MS = 15_000

/** Undefined for a text that no instance wrote. */
export function readInstanceState(text: string): InstanceState | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return undefined
    const { sequence, revision, faults } = value
    const isState = Number.isSafeInteger(sequence) && typeof revision === 'string' && Array.isArray(faults)
    return isState ? { sequence: Number(sequence), revision, faults: faults.map(String) } : undefined
  } catch {
    return undefined
  }
}
