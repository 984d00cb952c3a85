/**
 * Whether a version is valid: a key of POLICY_PUBLIC_KEYS has signed it, or people have approved it, as the version before
 * it asks. So the version before it must be valid too, back to one that such a key has signed, or that is known.
 */
import { POLICY_FILES, type PolicyFiles, REQUIRED_FILES, revisionOf } from '../policy-files.ts'
import { BLOCKED_FILE } from '../policy-folder.ts'
import type { PolicyReading } from '../policy-source.ts'
import { type ApprovedVersion, claimedProposal, readApprovedText } from './proposal.ts'
import {
  digestOfText,
  type PublishedVersion,
  REPUBLISH,
  refusal,
  type SignedByPeople,
  type VersionHome,
  type VersionKeys,
  verifyVersion,
  versionFile,
} from './signed-version.ts'

/** What a database keeps of versions (src/store/policy-versions.ts). Every method may reject with StoreUnavailable. */
export interface VersionReader {
  home(): Promise<VersionHome>
  last(): Promise<{ readonly number: number; readonly signed: string } | undefined>
  get(number: number): Promise<string | undefined>
  file(digest: string): Promise<string | undefined>
}

/** The texts of a version's files, by file name. */
export type VersionTexts = ReadonlyMap<string, string>

/** A version and its files. */
export interface WholeVersion {
  readonly version: PublishedVersion
  readonly texts: VersionTexts
}

/** A change that people have approved, to be judged. */
export interface ApprovedChange {
  readonly approved: ApprovedVersion
  /** The number of the version that it becomes. */
  readonly number: number
  readonly database: string
  /** The signed text of the version before it. */
  readonly base: string
  readonly before: PolicyReading
  readonly after: PolicyReading
}

/** Why a change is refused: `message` is the end of a sentence that begins with `version 7`. */
export interface UnapprovedChange {
  readonly code: string
  readonly message: string
  readonly hint: string
}

/** Resolves with who has signed it, or with why the change is refused. */
export type JudgeChange = (change: ApprovedChange) => Promise<UnapprovedChange | SignedByPeople>

export interface ChainParts {
  readonly versions: Pick<VersionReader, 'get' | 'file'>
  readonly keys: VersionKeys
  readonly judge: JudgeChange
  /** A version that an operator has verified (POLICY_KNOWN). */
  readonly trusted?: KnownVersion | undefined
  /** Milliseconds since the epoch, by the clock of this machine. */
  readonly now: () => number
}

interface StoredText {
  readonly number: number
  readonly signed: string
}

/** A version that was found valid before: its number, and the digest of its signed text. */
export interface KnownVersion {
  readonly number: number
  readonly digest: string
}

/** How many versions are read at most, to find one that a key signed or that is known. */
const LONGEST_CHAIN = 10_000

/** Throws FileError. */
export async function validVersion(
  last: StoredText,
  home: VersionHome,
  known: KnownVersion | undefined,
  parts: ChainParts,
): Promise<WholeVersion> {
  const [first, ...later] = await chainTo(last, known, parts)
  if (!first) throw new Error('a chain has at least one version')
  let base: ValidVersion = { ...first, version: await beginning(first, home, parts) }
  for (const next of later) base = { ...next, version: await nextVersion(next, base, home, parts) }
  return { version: base.version, texts: await readTexts(base.version, parts.versions) }
}

/** A version after one that is valid. Throws FileError. */
export async function nextVersion(
  { number, signed }: StoredText,
  base: ValidVersion | undefined,
  home: VersionHome,
  parts: ChainParts,
): Promise<PublishedVersion> {
  const approved = readApprovedText(signed)
  if (!approved) return verifyVersion(number, signed, parts.keys, home)
  if (isVerified({ number, signed }, parts.trusted, NAMED)) return claimedVersion(number, approved)
  if (base?.number !== number - 1) throw noBase(number)
  const found = await judgeNext(approved, base, home, parts)
  if ('code' in found) throw refusal(number, found.code, found.message, found.hint)
  return found
}

/** The version that a change makes of `base`, or why it is refused. Throws FileError for changed or faulty files. */
export async function judgeNext(
  approved: ApprovedVersion,
  base: ValidVersion,
  home: VersionHome,
  { versions, judge, now }: ChainParts,
): Promise<PublishedVersion | UnapprovedChange> {
  const number = base.number + 1
  const version = claimedVersion(number, approved)
  const [before, after] = [await readingIn(base.version, versions), await readingIn(version, versions)]
  const found = await judge({ approved, number, database: home.id, base: base.signed, before, after })
  if ('code' in found) return found
  return refusedEarly(approved, now()) ?? { ...version, user: found.author.by, signed: found }
}

/** Throws FileError for changed files. */
export async function readingIn(version: PublishedVersion, versions: Pick<VersionReader, 'file'>) {
  return readingOf(version, await readTexts(version, versions))
}

/**
 * The time in an approved version is that of the database, whose administrator can set it. The clock of this machine
 * may be wrong too, so it counts only where the two are far apart.
 */
export const CLOCKS_APART_MS = 2 * 60 * 60 * 1000

function refusedEarly({ proposal }: ApprovedVersion, now: number): UnapprovedChange | undefined {
  const notBefore = claimedProposal(proposal)?.notBefore
  if (notBefore === undefined || Date.parse(notBefore) <= now + CLOCKS_APART_MS) return undefined
  return {
    code: 'approval-window',
    message: `was approved for ${notBefore}, and this machine has ${new Date(now).toISOString()}`,
    hint: 'compare the clocks of this machine and of the database',
  }
}

export interface ValidVersion extends StoredText {
  readonly version: PublishedVersion
}

function noBase(number: number) {
  return refusal(number, 'version-missing', `follows version ${number - 1}, which is missing or not valid`, REPUBLISH)
}

/** From the first version that is valid by itself, to the last one. */
async function chainTo(
  last: StoredText,
  known: KnownVersion | undefined,
  { versions, trusted }: ChainParts,
): Promise<readonly StoredText[]> {
  const isKnown = (one: StoredText) => isVerified(one, known, HAD) || isVerified(one, trusted, NAMED)
  const chain = [last]
  for (let one = last; !isKnown(one) && readApprovedText(one.signed); ) {
    const number = one.number - 1
    const signed = chain.length < LONGEST_CHAIN ? await versions.get(number) : undefined
    if (signed === undefined) throw noBase(one.number)
    one = { number, signed }
    chain.unshift(one)
  }
  return chain
}

export function isSame({ number, signed }: StoredText, known: KnownVersion | undefined): boolean {
  return number === known?.number && digestOfText(signed) === known.digest
}

/** A number stands for one version. Throws FileError for another one, though other people have approved it as well. */
function isVerified(one: StoredText, verified: KnownVersion | undefined, other: typeof HAD): boolean {
  if (one.number !== verified?.number || isSame(one, verified)) return one.number === verified?.number
  throw refusal(one.number, 'version-number', other.what, other.hint)
}

export const RESTORED =
  'find out who writes to the database; if you changed to an older or another one, delete `policy-sequence` in DATA_DIR'

const HAD = { what: 'is another one than this instance had under this number', hint: RESTORED }

const NAMED: typeof HAD = {
  what: 'is another one than POLICY_KNOWN names',
  hint: 'compare POLICY_KNOWN with `sallyport policy history --verify` of a machine that you trust',
}

async function beginning(one: StoredText, home: VersionHome, { keys }: ChainParts): Promise<PublishedVersion> {
  const approved = readApprovedText(one.signed)
  return approved ? claimedVersion(one.number, approved) : verifyVersion(one.number, one.signed, keys, home)
}

/** As the proposal says, whoever signed it. */
function claimedVersion(number: number, { proposal: signed, time }: ApprovedVersion): PublishedVersion {
  const claimed = claimedProposal(signed)
  if (!claimed || !Object.keys(claimed.files).every((name) => POLICY_FILES.includes(name))) {
    throw refusal(number, 'version-unknown', 'was published by another version of sallyport', 'update this instance')
  }
  const { database, revision, digest, files, title, proposal } = claimed
  return { number, database, revision, time, user: '', kind: 'approved', reason: title, digest, files, proposal }
}

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
  const isWhole = REQUIRED_FILES.every((name) => sources.has(name))
  if (!isWhole || revisionOf(files, blocked) !== version.revision) {
    throw refusal(number, 'version-unknown', 'was published by another version of sallyport', 'update this instance')
  }
  return { files: () => files, blocked: () => blocked, refusal: undefined, sequence: number }
}
