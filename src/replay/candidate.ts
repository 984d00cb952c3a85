/** A policy directory to decide by without ruling anything: what replay and shadow put beside the policy in force. */
import type { ActivePolicy } from '../policy/live-policy.ts'
import { revisionOf } from '../policy/policy-files.ts'
import { Snapshot } from '../policy/snapshot.ts'
import type { Resources } from '../resources/resource.ts'
import { loadPolicy } from '../review/load-policy.ts'
import type { Bench } from './decide-again.ts'

/** Throws FileError and ReviewError. */
export async function openCandidate(directory: string, resources: Resources): Promise<Bench> {
  const { policy, blocked, files, blockedFile } = await loadPolicy(directory, resources)
  const active: ActivePolicy = {
    revision: revisionOf(files, blockedFile),
    snapshot: new Snapshot(policy, resources),
    blocked,
  }
  return { resources, policyAt: () => active }
}
