/** Every check, and every code that a finding can have. docs/checks.md says what each code means; a test compares both. */
import { readFileSync } from 'node:fs'
import type { Diagnostic } from '../../base/diagnostic.ts'
import type { FindingRule } from '../../present/sarif.ts'
import type { CheckedBlocked, CheckedPolicy, PolicyCheck } from './check.ts'
import { APPROVALS } from './rules/approvals.ts'
import { BLOCKED_CHECKS } from './rules/blocked.ts'
import { ESCALATION } from './rules/escalation.ts'
import { WHOLE_FILES } from './rules/files.ts'
import { NEVER_MATCHES } from './rules/never-matches.ts'
import { PRIVILEGES } from './rules/privileges.ts'
import { REDUNDANT_LINES } from './rules/redundant-lines.ts'
import { ROUTES_AND_LIMITS } from './rules/routes-and-limits.ts'
import { UNUSED } from './rules/unused.ts'

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

/** The codes of warnings, which comments can suppress. A code that two checks find is listed once. */
export const WARNINGS: ReadonlySet<string> = new Set([...OF_POLICY, ...BLOCKED_CHECKS].flatMap(({ codes }) => codes))

/** Every code of a finding, with the words of docs/checks.md; errors first. */
export function codesExplained(page = readFileSync(PAGE, 'utf8')): readonly FindingRule[] {
  const warnings = page.search(/^## Warnings$/m)
  return [...page.matchAll(ROW)].map(({ index, 1: code = '', 2: meaning = '', 3: fix = '' }) => {
    return { code, severity: index < warnings ? 'error' : 'warning', meaning, fix }
  })
}

// docs/ is beside src/ in a checkout, and beside dist/ in the package.
const PAGE = new URL('../../../docs/checks.md', import.meta.url)
const ROW = /^\| `([a-z0-9-]+)` \| (.*) \| (.*) \|$/gm

export function findInPolicy(policy: CheckedPolicy): readonly Diagnostic[] {
  return OF_POLICY.flatMap(({ find }) => find(policy))
}

export function findInBlocked(blocked: CheckedBlocked): readonly Diagnostic[] {
  return BLOCKED_CHECKS.flatMap(({ find }) => find(blocked))
}
