/** A policy that breaks one of its guarantees never decides: a start refuses it, a running server keeps the last good one. */
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'

/** Rejects with FileError. */
export async function refuseUnproven(files: PolicyFiles, resources: Resources): Promise<void> {
  if (!files['guarantees.yaml']) return
  // A start without guarantees doesn't load what proves them.
  const { refuseBroken } = await import('../../analysis/guarantees/faults.ts')
  refuseBroken(parsePolicy(files, resources), files, { resources, now: Date.now() })
}
