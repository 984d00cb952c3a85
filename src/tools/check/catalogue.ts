/**
 * Every check, and every code that a finding can have. docs/checks.md lists them; a test compares it with this table.
 */
import type { Diagnostic } from '../../base/diagnostic.ts'
import type { CheckedBlocked, CheckedPolicy, CodeEntry, PolicyCheck } from './check.ts'
import { ERROR_CODES } from './error-codes.ts'
import { selfGrants, writesBeyondReads } from './rules/escalation.ts'
import { spacesInBlocked, spacesInPolicy, undecidedResources } from './rules/files.ts'
import {
  contradictions,
  duplicateBlocks,
  duplicateRules,
  impliedLinks,
  rulesWithoutEffect,
  transitionsWithoutField,
} from './rules/needless-lines.ts'
import {
  actionsWithoutRoute,
  relationGaps,
  relationsThatNeverHold,
  undeclaredAttributes,
  viewGaps,
  viewsWithoutFields,
} from './rules/never-matches.ts'
import {
  broadAsking,
  inheritedPrivileges,
  privilegedWords,
  publicWrites,
  rolesHandedOut,
  unprivilegedWrites,
} from './rules/privileges.ts'
import { limitsThatNeverMatch, shadowedLimits, unreachedRoutes, wideClimbs } from './rules/routes-and-limits.ts'
import { schemaTells, unboundedObjects } from './rules/schemas.ts'
import {
  expiredBlocks,
  expiredRules,
  rolesWithoutGrant,
  unknownUsersInBlocked,
  unknownUsersInRules,
  unusedConditions,
  unusedRelations,
  unusedViews,
} from './rules/unused.ts'
import { SUPPRESSION_CODES } from './suppressions.ts'

const POLICY_CHECKS: readonly PolicyCheck<CheckedPolicy>[] = [
  duplicateRules,
  impliedLinks,
  rulesWithoutEffect,
  relationsThatNeverHold,
  contradictions,
  transitionsWithoutField,
  viewsWithoutFields,
  actionsWithoutRoute,
  relationGaps,
  viewGaps,
  undeclaredAttributes,
  publicWrites,
  unprivilegedWrites,
  inheritedPrivileges,
  rolesHandedOut,
  privilegedWords,
  broadAsking,
  selfGrants,
  writesBeyondReads,
  schemaTells,
  unreachedRoutes,
  rolesWithoutGrant,
  unusedRelations,
  unusedConditions,
  unusedViews,
  unboundedObjects,
  wideClimbs,
  limitsThatNeverMatch,
  shadowedLimits,
  expiredRules,
  unknownUsersInRules,
  spacesInPolicy,
  undecidedResources,
]

const BLOCKED_CHECKS: readonly PolicyCheck<CheckedBlocked>[] = [
  duplicateBlocks,
  expiredBlocks,
  unknownUsersInBlocked,
  spacesInBlocked,
]

interface CataloguedCode extends CodeEntry {
  readonly severity: Diagnostic['severity']
}

/** In the order of docs/checks.md: errors first. A code that two checks find is listed once. */
export const CODES: ReadonlyMap<string, CataloguedCode> = new Map(
  [
    ...ERROR_CODES.map((entry) => ({ ...entry, severity: 'error' as const })),
    ...[...POLICY_CHECKS, ...BLOCKED_CHECKS].flatMap(({ codes }) => codes).map(asWarning),
    ...SUPPRESSION_CODES.map(asWarning),
  ].map((entry) => [entry.code, entry]),
)

export function findInPolicy(policy: CheckedPolicy): readonly Diagnostic[] {
  return POLICY_CHECKS.flatMap(({ find }) => find(policy))
}

export function findInBlocked(blocked: CheckedBlocked): readonly Diagnostic[] {
  return BLOCKED_CHECKS.flatMap(({ find }) => find(blocked))
}

function asWarning(entry: CodeEntry): CataloguedCode {
  return { ...entry, severity: 'warning' }
}
