/** Finds the policy that made a decision: the current files, or a kept or published version. */
import { revisionOf, revisionOfContent } from '../../policy/policy-files.ts'
import type { PolicyReading } from '../../policy/policy-source.ts'
import type { PublishedVersion } from '../../policy/published/signed-version.ts'
import { readingOf } from '../../policy/published/version-chain.ts'
import type { Resources } from '../../resources/resource.ts'
import type { PolicyVersions } from '../../store/policy-versions.ts'
import { type LoadedPolicy, loadPolicy, type PastVersion, type PolicyPlace, parseReading } from '../load-policy.ts'
import { withTemporaryFiles } from '../temporary-files.ts'
import type { PolicyContent } from './content.ts'
import { homeOf } from './folder/layout.ts'
import { type SignedVersions, textsOf, verifiedHistory } from './published-versions.ts'
import { isIntact, readHistory, readIntact, readVersion } from './version.ts'

interface PolicySearch {
  /** The policy that the server reads. */
  readonly place: PolicyPlace
  /** DATA_DIR. */
  readonly dataDirectory: string
  readonly resources: Resources
}

/** Undefined if no such version is kept. */
export async function policyOfRevision(
  revision: string,
  { place, ...where }: PolicySearch,
): Promise<LoadedPolicy | undefined> {
  if (typeof place === 'string') return keptInFolder(revision, place, where)
  const reading = await place.readRevision(revision)
  return reading && parseReading(reading, where.resources)
}

/** Versions keep no blocked.txt, so the current one is used. */
async function keptInFolder(
  revision: string,
  directory: string,
  { dataDirectory, resources }: Omit<PolicySearch, 'place'>,
): Promise<LoadedPolicy | undefined> {
  const present = await loadPolicy(directory, resources)
  if (revisionOf(present.files, present.blockedFile) === revision) return present
  const home = await homeOf(directory, dataDirectory)
  for (const version of (await readHistory(home)).toReversed()) {
    const content = await readVersion(home, version)
    const revisions: readonly string[] = [version.revision, revisionOfContent(content, present.blockedFile.text)]
    if (!revisions.includes(revision) || !(await isIntact(home, version))) continue
    return loadKept(content, present, resources)
  }
  return undefined
}

function loadKept(content: PolicyContent, present: LoadedPolicy, resources: Resources): Promise<LoadedPolicy> {
  const files = [...content, ['blocked.txt', present.blockedFile.text] as const]
  return withTemporaryFiles(files, (folder) => loadPolicy(folder, resources))
}

/** Reads a former version. Undefined if the history doesn't have it. Throws ToolError if its files were edited. */
export async function policyOfHistory(
  wanted: PastVersion,
  { place, dataDirectory, resources }: PolicySearch,
): Promise<LoadedPolicy | undefined> {
  if (typeof place !== 'string') {
    const reading = await place.readPast(wanted)
    return reading && parseReading(reading, resources)
  }
  const home = await homeOf(place, dataDirectory)
  const version = versionIn(await readHistory(home), wanted)
  if (!version) return undefined
  return loadKept(await readIntact(home, version), await loadPolicy(place, resources), resources)
}

function versionIn<V extends { readonly number: number; readonly time: string }>(
  history: readonly V[],
  wanted: PastVersion,
): V | undefined {
  if ('number' in wanted) return history.find(({ number }) => number === wanted.number)
  return history.findLast(({ time }) => Date.parse(time) <= wanted.at)
}

export async function publishedPast(wanted: PastVersion, signed: SignedVersions): Promise<PolicyReading | undefined> {
  const version = versionIn((await verifiedHistory(signed)).versions, wanted)
  return version && reader(signed.versions)(version)
}

// ---- The published policy that instances named by a revision.

/** How many earlier rules may have stayed in force beside the blocks of a version. */
const MOST_RULES = 20

/**
 * A version, or the blocks of one with the rules of an earlier one: while an instance refuses the rules of a version,
 * its blocks are in force. Throws FileError for stored files that aren't those that were signed.
 */
export async function publishedRevision(revision: string, signed: SignedVersions): Promise<PolicyReading | undefined> {
  const latestFirst = (await verifiedHistory(signed)).versions.toReversed()
  const read = reader(signed.versions)
  const whole = latestFirst.find((one) => one.revision === revision)
  if (whole) return read(whole)
  for (const [at, version] of latestFirst.entries()) {
    const { blocked } = await read(version)
    for (const earlier of rulesBefore(latestFirst.slice(at))) {
      const { files } = await read(earlier)
      if (revisionOf(files(), blocked()) === revision) return { files, blocked, refusal: undefined }
    }
  }
  return undefined
}

/** The versions with other rules than the first one has, one for all versions with the same rules. */
function rulesBefore([first, ...earlier]: readonly PublishedVersion[]): readonly PublishedVersion[] {
  const others = new Map(earlier.filter(({ digest }) => digest !== first?.digest).map((one) => [one.digest, one]))
  return [...others.values()].slice(0, MOST_RULES)
}

/** Versions share most of their files, so each text is read once. */
function reader(versions: PolicyVersions): (version: PublishedVersion) => Promise<PolicyReading> {
  const texts = new Map<string, Promise<string | undefined>>()
  const readings = new Map<number, Promise<PolicyReading>>()
  const file = (digest: string) => {
    const text = texts.get(digest) ?? versions.file(digest)
    texts.set(digest, text)
    return text
  }
  return (version) => {
    const reading =
      readings.get(version.number) ?? textsOf({ file }, version).then((found) => readingOf(version, found))
    readings.set(version.number, reading)
    return reading
  }
}
