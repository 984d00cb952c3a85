/** A policy that is only compared: replay and shadow compare its decisions with the policy in force. */

import type { ReplayPolicy } from '../../analysis/replay/decide-again.ts'
import { packPolicy } from '../../decide/rules/rule-table.ts'
import { Snapshots } from '../../decide/rules/snapshots.ts'
import type { ActivePolicy } from '../../policy/active-policy.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'
import { loadPolicy, type PolicyPlace } from '../load-policy.ts'

/** Throws FileError and ToolError. */
export async function openCandidate(place: PolicyPlace, resources: Resources): Promise<ReplayPolicy> {
  const { policy, blocked, files, blockedFile } = await loadPolicy(place, resources)
  const revision = revisionOf(files, blockedFile)
  const snapshots = new Snapshots(packPolicy(policy), resources)
  const policyAt = (time: number): ActivePolicy => ({ revision, blocked, snapshot: snapshots.at(time) })
  return { resources, policyAt }
}
