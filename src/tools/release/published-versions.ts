/** The published versions of a database as a publisher and a reader see them: verified one by one. */
import { type Diagnostic, FileError } from '../../base/diagnostic.ts'
import {
  readInstanceState,
  readTexts,
  SILENT_AFTER_MS,
  type VersionTexts,
} from '../../policy/published/published-source.ts'
import { type PublishedVersion, type VersionKeys, verifyVersion } from '../../policy/published/signed-version.ts'
import { printable } from '../../present/quote.ts'
import type { InstanceNote, PolicyVersions } from '../../store/policy-versions.ts'
import { ToolError } from '../load-policy.ts'

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

export async function verifiedHistory(versions: PolicyVersions, keys: VersionKeys): Promise<VerifiedHistory> {
  const home = await versions.home()
  const stored = await versions.all()
  const verified: PublishedVersion[] = []
  const refused: Diagnostic[] = []
  for (const { number, signed } of stored) {
    try {
      verified.push(await verifyVersion(number, signed, keys, home))
    } catch (error) {
      refused.push(faultOf(error))
    }
  }
  return { database: home.id, versions: verified, refused, last: stored.at(-1)?.number ?? 0 }
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

/** A version and its files. */
export interface WholeVersion {
  readonly version: PublishedVersion
  readonly texts: VersionTexts
}

/**
 * `wanted`: a number or a revision; empty for the last version. Throws FileError for a version that isn't valid, and
 * ToolError if no version fits.
 */
export async function readVersion(versions: PolicyVersions, keys: VersionKeys, wanted: string): Promise<WholeVersion> {
  const version = await findVersion(versions, keys, wanted)
  return { version, texts: await textsOf(versions, version) }
}

async function findVersion(versions: PolicyVersions, keys: VersionKeys, wanted: string): Promise<PublishedVersion> {
  const last = await versions.latest()
  if (last === 0) throw new ToolError(NOTHING_PUBLISHED)
  if (wanted.length < REVISION_LENGTH) {
    const number = wanted === '' ? last : Number(wanted)
    const signed = await versions.get(number)
    if (signed !== undefined) return verifyVersion(number, signed, keys, await versions.home())
  }
  const named = (await verifiedHistory(versions, keys)).versions.findLast(({ revision }) => revision === wanted)
  if (named) return named
  throw new ToolError(`there is no version \`${wanted}\`: take one from \`sallyport policy history\``)
}

const REVISION_LENGTH = 16

export const NOTHING_PUBLISHED = 'nothing was published yet: publish a policy first with `policy apply`'

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
