/** A run as SARIF: the cells and cases that are wrong or could not be tried, each at its line. */
import { type Diagnostic, MOST_FAULTS } from '../../../base/diagnostic.ts'
import { type FindingRule, type SarifRun, sarifRun, sarifText } from '../../../present/sarif.ts'
import type { Result, Run } from '../run/result.ts'

const CODES: Readonly<Partial<Record<Result['outcome'], string>>> = { failed: 'cell-wrong', impossible: 'cell-untried' }

const RULES: readonly FindingRule[] = [
  {
    code: 'cell-wrong',
    severity: 'error',
    meaning: 'A request is answered otherwise than its cell states',
    mend: 'Change the policy; or, if the new answer is meant, change the expectation',
  },
  {
    code: 'cell-untried',
    severity: 'error',
    meaning: 'A cell could not be tried',
    mend: 'Change the cell as its message says, or remove it',
  },
]

/** Each place is that of the expectation, because nothing else belongs to one cell alone. */
export function matrixFindings({ results }: Run): readonly Diagnostic[] {
  return results.flatMap(({ outcome, place, title, why = '' }) => {
    const code = CODES[outcome]
    return code === undefined ? [] : [{ ...place, code, severity: 'error' as const, message: `${title}: ${why}` }]
  })
}

export function matrixSarif(findings: readonly Diagnostic[]): SarifRun {
  const shown = findings.slice(0, MOST_FAULTS)
  return sarifRun('matrix test', RULES, { findings: shown, more: findings.length - shown.length })
}

export function toSarif(run: Run): string {
  return sarifText([matrixSarif(matrixFindings(run))])
}
