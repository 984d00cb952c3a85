/** Finds the policy that made a decision: the current files, or a kept version. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { revisionOf, revisionOfContent } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'
import { type LoadedPolicy, loadPolicy, ToolError } from '../load-policy.ts'
import type { PolicyContent } from './content.ts'
import { homeOf } from './folder/versions-folder.ts'
import { isIntact, readHistory, readVersion } from './version.ts'

interface Where {
  /** The policy directory that the server reads. */
  readonly directory: string
  /** DATA_DIR. */
  readonly dataDirectory: string
  readonly resources: Resources
}

/** Versions keep no blocked.txt, so the current one is used. Throws ToolError if no such version is kept. */
export async function policyOfRevision(
  revision: string,
  { directory, dataDirectory, resources }: Where,
): Promise<LoadedPolicy> {
  const present = await loadPolicy(directory, resources)
  if (revisionOf(present.files, present.blockedFile) === revision) return present
  const home = await homeOf(directory, dataDirectory)
  for (const version of (await readHistory(home)).toReversed()) {
    const content = await readVersion(home, version)
    const revisions: readonly string[] = [version.revision, revisionOfContent(content, present.blockedFile.text)]
    if (!revisions.includes(revision) || !(await isIntact(home, version))) continue
    return loadContent(content, present.blockedFile.text, resources)
  }
  throw new ToolError(
    `${directory} does not keep the policy of revision ${revision}: ` +
      'explain the record with the present files (--record)',
  )
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
