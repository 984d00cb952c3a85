/** The versions of a policy in evidence: a copy of the signed ones of a database, or those that a folder keeps. */
import { readFile, stat } from 'node:fs/promises'
import type { ReplayPolicy } from '../../analysis/replay/decide-again.ts'
import { isObject } from '../../base/is-object.ts'
import {
  type PolicyFiles,
  REQUIRED_FILES,
  RULE_FILES,
  revisionOf,
  revisionOfContent,
} from '../../policy/policy-files.ts'
import { BLOCKED_FILE } from '../../policy/policy-folder.ts'
import type { PolicyReading } from '../../policy/policy-source.ts'
import type { Resources } from '../../resources/resource.ts'
import type { PolicyVersions } from '../../store/policy-versions.ts'
import { loadPolicy, orFaults, parseReading, ToolError } from '../load-policy.ts'
import { homeOf } from '../release/folder/layout.ts'
import { publishedRevision } from '../release/policy-of-revision.ts'
import type { SignedVersions } from '../release/published-versions.ts'
import { readHistoryCopy, verifyHistory } from '../release/verify-history.ts'
import { readHistory, readVersion } from '../release/version.ts'
import { replayPolicyOf } from '../replay/replay.ts'

/** What made the decisions. */
export interface KeptPolicies {
  /** Why the versions aren't those that were signed; undefined if they are, or if none is signed. */
  readonly broken: string | undefined
  /** The policy of a revision, or why it is missing: words that a sentence of the report ends with. */
  readonly policyOf: (revision: string) => Promise<ReplayPolicy | string>
}

/** A longer text than V8 can hold would end the command. Throws ToolError. */
async function refuseLong(file: string): Promise<void> {
  if ((await stat(file)).size <= 256 * 1024 * 1024) return
  throw new ToolError(
    `${file} has more than 256 MB, so its versions can't be read: ask for evidence with fewer of them`,
  )
}

async function replayable(
  reading: PolicyReading | undefined,
  revision: string,
  resources: Resources,
): Promise<ReplayPolicy | string> {
  if (!reading) return `the evidence has no version of revision ${revision}`
  return orFaults<ReplayPolicy, string>(
    () => replayPolicyOf(parseReading(reading, resources), resources),
    ({ diagnostics: [first] }) =>
      `revision ${revision} can't be used with the schemas of the evidence (${first?.file}:${first?.line}: ${first?.message})`,
  )
}

// ---- Signed versions ------------------------------------------------------------------------------------------------

/** `file`: of `policy history --copy`. */
export async function signedPolicies(
  file: string,
  verifier: Omit<SignedVersions, 'versions'>,
  resources: Resources,
): Promise<KeptPolicies> {
  await refuseLong(file)
  const copy = await readHistoryCopy(file)
  const { broken } = await verifyHistory(copy, verifier)
  // Nothing else is asked of a copy.
  const versions = copy as PolicyVersions
  return {
    broken: broken && `version ${broken.number} of the policy is not valid: ${broken.why}`,
    async policyOf(revision) {
      // Of a version whose files were changed, `broken` tells.
      const reading = await orFaults(
        () => publishedRevision(revision, { ...verifier, versions }),
        () => undefined,
      )
      return replayable(reading, revision, resources)
    },
  }
}

// ---- Versions of a folder -------------------------------------------------------------------------------------------

interface FolderVersion {
  /** With the blocked.txt of its time, and with that of now: a folder keeps only the latter. */
  readonly revisions: readonly string[]
  readonly files: Readonly<Record<string, string>>
}

/** The text of the part. */
export async function folderVersions({
  policies,
  dataDirectory,
  resources,
}: {
  readonly policies: string
  readonly dataDirectory: string
  readonly resources: Resources
}): Promise<string> {
  const present = await loadPolicy(policies, resources)
  const blocked = present.blockedFile.text
  const texts = Object.entries(present.files).map(([name, { text }]) => [name, text] as const)
  const inForce: FolderVersion = {
    revisions: [revisionOf(present.files, present.blockedFile)],
    files: Object.fromEntries([...texts, [BLOCKED_FILE, blocked]]),
  }
  const home = await homeOf(policies, dataDirectory)
  const kept: FolderVersion[] = []
  for (const version of await readHistory(home)) {
    const content = await readVersion(home, version)
    const files = [...content].map(([name, bytes]) => [name, Buffer.from(bytes).toString()] as const)
    const revisions = [version.revision, revisionOfContent(content, blocked)]
    kept.push({ revisions, files: Object.fromEntries([...files, [BLOCKED_FILE, blocked]]) })
  }
  return `${JSON.stringify({ versions: [...kept, inForce] })}\n`
}

export async function folderPolicies(file: string, resources: Resources): Promise<KeptPolicies> {
  await refuseLong(file)
  const versions = folderVersionsIn(await readFile(file, 'utf8'))
  return {
    broken: undefined,
    async policyOf(revision) {
      const version = versions.findLast(({ revisions }) => revisions.includes(revision))
      return replayable(version && readingIn(version, revision), revision, resources)
    },
  }
}

/** Of a revision with another blocked.txt, nobody is known to be blocked. */
function readingIn({ files, revisions }: FolderVersion, revision: string): PolicyReading {
  const named = RULE_FILES.filter((name) => files[name] !== undefined)
  const sources = Object.fromEntries(named.map((name) => [name, { name, text: files[name] }]))
  const text = revisions.at(-1) === revision ? files[BLOCKED_FILE] : undefined
  const blocked = { name: BLOCKED_FILE, text: text ?? '' }
  return { files: () => sources as unknown as PolicyFiles, blocked: () => blocked, refusal: undefined }
}

/** Throws ToolError. */
function folderVersionsIn(text: string): readonly FolderVersion[] {
  const found = parsed(text)
  const versions = isObject(found) && Array.isArray(found.versions) ? found.versions : [undefined]
  if (versions.every(isFolderVersion)) return versions
  throw new ToolError('the evidence has no versions of a policy that this program can read: use the one that made it')
}

function isFolderVersion(one: unknown): one is FolderVersion {
  if (!isObject(one) || !Array.isArray(one.revisions) || !isObject(one.files)) return false
  const { files } = one
  return Object.values(files).every((file) => typeof file === 'string') && REQUIRED_FILES.every((name) => name in files)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
