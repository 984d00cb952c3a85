/** A version of the policy as a change of it is looked at: parsed, with the files that it was read from. */
import type { SourceFile } from '../../base/diagnostic.ts'
import type { Policy } from '../../decide/policy.ts'
import { type Blocked, parseBlocked } from '../../policy/parse/parse-blocked.ts'
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import { type PolicyFiles, RULE_FILES } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'

export interface ChangedPolicy {
  readonly policy: Policy
  readonly blocked: Blocked
  readonly files: PolicyFiles
  readonly blockedFile: SourceFile
}

interface ParsedRules {
  readonly files: PolicyFiles
  readonly resources: Resources
  readonly policy: Policy
}

/** A change has two versions, and the later one is the earlier one of the next change. */
const MOST_KEPT = 2

let kept: readonly ParsedRules[] = []

/**
 * The rules are parsed when they are asked for, and once for files with the same texts, so that their comparisons are
 * made once; then `policy` throws FileError. Throws FileError for a faulty blocked.txt.
 */
export function changedPolicy(files: PolicyFiles, blockedFile: SourceFile, resources: Resources): ChangedPolicy {
  const blocked = parseBlocked(blockedFile)
  let policy: Policy | undefined
  return {
    get policy() {
      policy ??= parsedOnce(files, resources)
      return policy
    },
    blocked,
    files,
    blockedFile,
  }
}

function parsedOnce(files: PolicyFiles, resources: Resources): Policy {
  const known = kept.find((one) => one.resources === resources && hasSameRules(one.files, files))
  const rules = known ?? { files, resources, policy: parsePolicy(files, resources) }
  kept = [rules, ...kept.filter((one) => one !== known)].slice(0, MOST_KEPT)
  return rules.policy
}

/** Whether only blocked.txt may differ. */
export function hasSameRules(one: PolicyFiles, other: PolicyFiles): boolean {
  return RULE_FILES.every((name) => one[name]?.text === other[name]?.text)
}
