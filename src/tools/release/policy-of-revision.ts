/** Finds the policy that made a decision: the current files, or a kept or published version. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { revisionOf, revisionOfContent } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'
import { type LoadedPolicy, loadPolicy, type PolicyPlace, parseReading } from '../load-policy.ts'
import type { PolicyContent } from './content.ts'
import { homeOf } from './folder/versions-folder.ts'
import { isIntact, readHistory, readVersion } from './version.ts'

interface Where {
  /** The policy that the server reads. */
  readonly place: PolicyPlace
  /** DATA_DIR. */
  readonly dataDirectory: string
  readonly resources: Resources
}

/** Undefined if no such version is kept. */
export async function policyOfRevision(
  revision: string,
  { place, ...where }: Where,
): Promise<LoadedPolicy | undefined> {
  if (typeof place === 'string') return keptInFolder(revision, place, where)
  const reading = await place.readRevision(revision)
  return reading && parseReading(reading, where.resources)
}

/** Versions keep no blocked.txt, so the current one is used. */
async function keptInFolder(
  revision: string,
  directory: string,
  { dataDirectory, resources }: Omit<Where, 'place'>,
): Promise<LoadedPolicy | undefined> {
  const present = await loadPolicy(directory, resources)
  if (revisionOf(present.files, present.blockedFile) === revision) return present
  const home = await homeOf(directory, dataDirectory)
  for (const version of (await readHistory(home)).toReversed()) {
    const content = await readVersion(home, version)
    const revisions: readonly string[] = [version.revision, revisionOfContent(content, present.blockedFile.text)]
    if (!revisions.includes(revision) || !(await isIntact(home, version))) continue
    return loadContent(content, present.blockedFile.text, resources)
  }
  return undefined
}

async function loadContent(content: PolicyContent, blocked: string, resources: Resources): Promise<LoadedPolicy> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-revision-'))
  try {
    for (const [file, bytes] of content) await writeFile(join(folder, file), bytes)
    await writeFile(join(folder, 'blocked.txt'), blocked)
    return await loadPolicy(folder, resources)
  } finally {
    await rm(folder, { recursive: true })
  }
}
