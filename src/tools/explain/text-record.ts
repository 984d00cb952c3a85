/** What was recorded, and whether it would be so again. */

import { quote } from '../../present/quote.ts'
import { wrap } from '../../present/text-layout.ts'
import type { RecordComparison } from './explanation.ts'

export function recordLines(record: RecordComparison): readonly string[] {
  const { requestId, status, problem, revision, sameRevision, rules, sameRules, verdict } = record
  const request = requestId === null ? '' : `request ${quote(requestId)}: `
  const answer = problem === null ? `allowed with ${status}` : `${status} ${quote(problem)}`
  const files = sameRevision ? 'these files' : 'other files than these'
  return [
    `${request}${answer}, under revision ${quote(revision)} (${files})`,
    ...(sameRules ? [] : wrap(`the record names other rules: ${rules.map(quote).join(', ') || 'none'}`)),
    ...wrap(verdict),
  ]
}
