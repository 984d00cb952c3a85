/**
 * Every check, and every code that a finding can have. docs/checks.md lists them; a test compares it with this table.
 */
import type { Diagnostic } from '../../base/diagnostic.ts'
import type { CheckedBlocked, CheckedPolicy, CodeEntry, PolicyCheck } from './check.ts'
import { ERROR_CODES } from './error-codes.ts'
import { APPROVALS } from './rules/approvals.ts'
import { BLOCKED_CHECKS } from './rules/blocked.ts'
import { ESCALATION } from './rules/escalation.ts'
import { WHOLE_FILES } from './rules/files.ts'
import { NEVER_MATCHES } from './rules/never-matches.ts'
import { PRIVILEGES } from './rules/privileges.ts'
import { REDUNDANT_LINES } from './rules/redundant-lines.ts'
import { ROUTES_AND_LIMITS } from './rules/routes-and-limits.ts'
import { UNUSED } from './rules/unused.ts'
import { SUPPRESSION_CODES } from './suppressions.ts'

const OF_POLICY: readonly PolicyCheck[] = [
  ...REDUNDANT_LINES,
  ...NEVER_MATCHES,
  ...PRIVILEGES,
  ...ESCALATION,
  ...UNUSED,
  ...ROUTES_AND_LIMITS,
  ...WHOLE_FILES,
  ...APPROVALS,
]

interface CataloguedCode extends CodeEntry {
  readonly severity: Diagnostic['severity']
}

/** In the order of docs/checks.md: errors first. A code that two checks find is listed once. */
export const CODES: ReadonlyMap<string, CataloguedCode> = new Map(
  [
    ...ERROR_CODES.map((entry) => ({ ...entry, severity: 'error' as const })),
    ...[...OF_POLICY, ...BLOCKED_CHECKS].flatMap(({ codes }) => codes).map(asWarning),
    ...SUPPRESSION_CODES.map(asWarning),
  ].map((entry) => [entry.code, entry]),
)

export function findInPolicy(policy: CheckedPolicy): readonly Diagnostic[] {
  return OF_POLICY.flatMap(({ find }) => find(policy))
}

export function findInBlocked(blocked: CheckedBlocked): readonly Diagnostic[] {
  return BLOCKED_CHECKS.flatMap(({ find }) => find(blocked))
}

function asWarning(entry: CodeEntry): CataloguedCode {
  return { ...entry, severity: 'warning' }
}
