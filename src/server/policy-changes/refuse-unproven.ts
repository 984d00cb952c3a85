/** A policy that breaks one of its guarantees never decides: a start refuses it, a running server keeps the last good one. */
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'

/** `inForce`: what the policy would replace; absent at a start. Rejects with FileError. */
export async function refuseUnproven(
  files: PolicyFiles,
  resources: Resources,
  inForce: PolicyFiles | undefined,
): Promise<void> {
  if (!files['guarantees.yaml']) return
  // A start without guarantees doesn't load what proves them.
  const { refuseBroken, refuseChange } = await import('../../analysis/guarantees/faults.ts')
  const [policy, circumstances] = [parsePolicy(files, resources), { resources, now: Date.now() }]
  refuseBroken(policy, files, circumstances)
  if (inForce && policy.ratchets.length > 0) {
    refuseChange({ before: parsePolicy(inForce, resources), after: policy }, circumstances)
  }
}
