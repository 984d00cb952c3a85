/** The policy of examples/projects without its guarantees: with them, no server starts that has a hole in a wall. */
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const POLICIES = new URL('../../examples/projects/policies', import.meta.url).pathname

/** A copy in a folder of its own. */
export async function unguardedPolicies(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-unguarded-'))
  await cp(POLICIES, folder, { recursive: true })
  await rm(join(folder, 'guarantees.yaml'))
  return folder
}
