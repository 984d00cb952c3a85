/** The published versions of a database as a publisher and a reader see them: verified one by one. */
import { type Diagnostic, FileError } from '../../base/diagnostic.ts'
import { readInstanceState, SILENT_AFTER_MS } from '../../policy/published/published-source.ts'
import type { PublishedVersion, VersionKeys } from '../../policy/published/signed-version.ts'
import {
  type JudgeChange,
  type KnownVersion,
  nextVersion,
  readTexts,
  type ValidVersion,
  type VersionTexts,
  validVersion,
  type WholeVersion,
} from '../../policy/published/version-chain.ts'
import { printable } from '../../present/quote.ts'
import type { InstanceNote, PolicyVersions } from '../../store/policy-versions.ts'
import { ToolError } from '../load-policy.ts'

/** The versions of a database, and what tells whether they are valid. */
export interface SignedVersions {
  readonly versions: PolicyVersions
  readonly keys: VersionKeys
  readonly judge: JudgeChange
  /** See ChainParts. */
  readonly trusted?: KnownVersion | undefined
  /** Milliseconds since the epoch, by the clock of this machine. */
  readonly now: () => number
}

export interface VerifiedHistory {
  /** The id of the database. */
  readonly database: string
  /** In the order of their numbers. */
  readonly versions: readonly PublishedVersion[]
  /** Why others aren't valid. */
  readonly refused: readonly Diagnostic[]
  /** The number of the last version, valid or not; 0 without any. */
  readonly last: number
}

export async function verifiedHistory(signed: SignedVersions): Promise<VerifiedHistory> {
  const home = await signed.versions.home()
  const stored = await signed.versions.all()
  const verified: ValidVersion[] = []
  const refused: Diagnostic[] = []
  for (const one of stored) {
    try {
      verified.push({ ...one, version: await nextVersion(one, verified.at(-1), home, signed) })
    } catch (error) {
      refused.push(faultOf(error))
    }
  }
  const versions = verified.map(({ version }) => version)
  return { database: home.id, versions, refused, last: stored.at(-1)?.number ?? 0 }
}

/**
 * Why nothing may be published after the version `last`: a running instance has a later one. So versions were deleted, and
 * their blocks with them.
 */
export function faultOfLoss(notes: readonly InstanceNote[], last: number): string | undefined {
  const running = notes.filter(({ ageMs }) => ageMs <= SILENT_AFTER_MS)
  const states = running.map(({ name, state }) => ({ name, sequence: readInstanceState(state)?.sequence ?? 0 }))
  const [ahead] = states.filter(({ sequence }) => sequence > last).toSorted((a, b) => b.sequence - a.sequence)
  if (!ahead) return undefined
  const present = last === 0 ? 'the database has none' : `the last one in the database is ${last}`
  return (
    `the instance ${printable(ahead.name)} has version ${ahead.sequence}, but ${present}, so nothing was done: find out ` +
    'who deleted versions; if you restored an older database, stop all instances, delete `policy-sequence` in DATA_DIR ' +
    `of each, and publish then${last === 0 ? '' : `, or give \`--over ${last}\``}`
  )
}

/**
 * `wanted`: a number or a revision; empty for the last version. Throws FileError for a version that isn't valid, and
 * ToolError if no version fits.
 */
export async function readVersion(from: SignedVersions, wanted: string): Promise<WholeVersion> {
  const { versions } = from
  const last = await versions.latest()
  if (last === 0) throw new ToolError(NOTHING_PUBLISHED)
  if (wanted.length < REVISION_LENGTH) {
    const number = wanted === '' ? last : Number(wanted)
    const signed = await versions.get(number)
    if (signed !== undefined) return validVersion({ number, signed }, await versions.home(), undefined, from)
  }
  const named = (await verifiedHistory(from)).versions.findLast(({ revision }) => revision === wanted)
  if (named) return { version: named, texts: await textsOf(versions, named) }
  throw new ToolError(`there is no version \`${wanted}\`: take one from \`sallyport policy history\``)
}

const REVISION_LENGTH = 16

export const NOTHING_PUBLISHED = 'nothing was published yet: use `sallyport policy apply DIR --to database:`'

/** Throws FileError if the stored files aren't those that were signed. */
export function textsOf(versions: Pick<PolicyVersions, 'file'>, version: PublishedVersion): Promise<VersionTexts> {
  return readTexts(version, versions)
}

/** What a FileError about a version says. Throws any other error. */
export function faultOf(error: unknown): Diagnostic {
  const [fault] = error instanceof FileError ? error.diagnostics : []
  if (!fault) throw error
  return fault
}
