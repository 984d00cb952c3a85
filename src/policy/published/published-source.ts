/**
 * The published versions as the source of a policy. A version is read whole and verified before anything of it is
 * shown; a refused one leaves the reading before it. The number never goes back. Also what instances report of it.
 */
import { FileError, type SourceFile } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import type { PolicyFiles } from '../policy-files.ts'
import type { PolicyReading, PolicySource } from '../policy-source.ts'
import { readApprovedText } from './proposal.ts'
import { digestOfText, refusal, type VersionHome } from './signed-version.ts'
import {
  type ChainParts,
  type KnownVersion,
  RESTORED,
  readingOf,
  type VersionReader,
  validVersion,
} from './version-chain.ts'

/** What this instance followed before: it takes no older version, and none of another database. */
export interface KeptVersion {
  /** 0 before the first version. */
  readonly sequence: number
  /** The id of the database; undefined if it isn't known. */
  readonly database: string | undefined
  /** Of its signed text; undefined if it isn't known. */
  readonly digest?: string | undefined
}

export interface PublishedOptions extends Omit<ChainParts, 'versions'> {
  readonly followed?: KeptVersion
}

export class PublishedSource implements PolicySource {
  readonly #versions: VersionReader
  readonly #chain: ChainParts
  readonly #followed: KeptVersion
  /** Asked for once: whoever writes to the database can't exchange it while the instance runs. */
  #home: VersionHome | undefined
  /** What was looked at last. */
  #seen: { readonly number: number; readonly signed: string } | undefined
  /** The texts of the last good version, by digest. */
  #texts: ReadonlyMap<string, string> = new Map()
  #reading: (PolicyReading & { readonly sequence: number }) | undefined
  #refused: FileError | undefined
  /** When a version with a fault that may end by itself is looked at again: milliseconds since the epoch. */
  #againAt = Number.POSITIVE_INFINITY
  #judging = false
  /** The last good version. */
  #known: KnownVersion | undefined

  constructor(versions: VersionReader, { followed = NEW, ...parts }: PublishedOptions) {
    this.#versions = versions
    // Files of the last good version needn't be asked for again.
    const file = async (digest: string) => this.#texts.get(digest) ?? versions.file(digest)
    this.#chain = { ...parts, versions: { get: (number) => versions.get(number), file } }
    this.#followed = followed
    const { sequence: number, digest } = followed
    this.#known = digest === undefined ? undefined : { number, digest }
  }

  /** The files of the last good version. */
  get files(): PolicyFiles | undefined {
    return this.#reading?.files()
  }

  /** The last good version. */
  get known(): KnownVersion | undefined {
    return this.#known
  }

  /** The id of the database, after a look. */
  get database(): string | undefined {
    return this.#home?.id
  }

  /** Whether a look has been answered by the database, and takes long because a change is judged. */
  get isJudging(): boolean {
    return this.#judging
  }

  /** Resolves when the database answers. Rejects with StoreUnavailable. */
  async listen(): Promise<void> {
    await this.#versions.last()
  }

  /** Looks for a newer version; true if there is one, good or bad. Rejects with StoreUnavailable. */
  async look(): Promise<boolean> {
    const last = (await this.#versions.last()) ?? NOTHING
    if (this.#hasSeen(last)) return false
    const { number, signed } = last
    this.#home ??= await this.#versions.home()
    this.#judging = readApprovedText(signed) !== undefined
    try {
      this.#refuseBack(number)
      this.#refuseOther(number, this.#home)
      const { version, texts } = await validVersion(last, this.#home, this.#known, this.#chain)
      this.#reading = readingOf(version, texts)
      this.#known = { number, digest: digestOfText(signed) }
      this.#texts = new Map(Object.entries(version.files).map(([name, digest]) => [digest, texts.get(name) ?? '']))
      this.#refused = undefined
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      this.#refused = error
      this.#againAt = error.diagnostics.some(({ code }) => PASSING.includes(code))
        ? this.#chain.now() + AGAIN_AFTER_MS
        : Number.POSITIVE_INFINITY
    } finally {
      this.#judging = false
    }
    this.#seen = last
    return true
  }

  /** In the place of a refused version, the true one of its number may stand later. */
  #hasSeen({ number, signed }: { readonly number: number; readonly signed: string }): boolean {
    if (number !== this.#seen?.number) return false
    return this.#refused === undefined || (signed === this.#seen.signed && this.#chain.now() < this.#againAt)
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

/** Faults of approved versions that end by themselves: they come too early, or could not be judged. */
export const PASSING = ['approval-window', 'approval-unjudged']
const AGAIN_AFTER_MS = 10_000

const NEW: KeptVersion = { sequence: 0, database: undefined }
const NOTHING = { number: 0, signed: '' }

const FIRST = 'run `sallyport policy apply DIR --to database:`'

/** What an instance reports about the published version that it has in force. */
export interface InstanceState {
  /** All versions up to this number are in force. */
  readonly sequence: number
  readonly revision: string
  /** Why a later version isn't in force, a sentence each. */
  readonly faults: readonly string[]
  /** Why scheduled proposals are not in force, a sentence each. */
  readonly overdue: readonly string[]
}

/** An instance reports its state every five seconds; without a word for so long, it has ended or has lost the database. */
export const SILENT_AFTER_MS = 15_000

/** Undefined for a text that no instance wrote. */
export function readInstanceState(text: string): InstanceState | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return undefined
    const { sequence, revision, faults, overdue } = value
    const isState = Number.isSafeInteger(sequence) && typeof revision === 'string' && Array.isArray(faults)
    return isState
      ? { sequence: Number(sequence), revision, faults: faults.map(String), overdue: textsIn(overdue) }
      : undefined
  } catch {
    return undefined
  }
}

/** Earlier versions of sallyport knew no proposals. */
function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}
