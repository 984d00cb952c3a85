/** A policy from a directory, only for comparison: replay and shadow compare its decisions with the policy in force. */

import { packPolicy } from '../../decide/rules/rule-table.ts'
import { Snapshots } from '../../decide/rules/snapshots.ts'
import type { ActivePolicy } from '../../policy/active-policy.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'
import { loadPolicy } from '../load-policy.ts'
import type { ReplayPolicy } from './decide-again.ts'

/** Throws FileError and ToolError. */
export async function openCandidate(directory: string, resources: Resources): Promise<ReplayPolicy> {
  const { policy, blocked, files, blockedFile } = await loadPolicy(directory, resources)
  const revision = revisionOf(files, blockedFile)
  const snapshots = new Snapshots(packPolicy(policy), resources)
  const policyAt = (time: number): ActivePolicy => ({ revision, blocked, snapshot: snapshots.at(time) })
  return { resources, policyAt }
}
