/** The cases of an explanation as a table, where there are several. */

import { table } from '../../present/text-layout.ts'
import type { Answer, Case, Explanation } from './explanation.ts'

export function caseLines(explanation: Explanation): readonly string[] {
  const { cases, missing } = explanation
  if (cases.length < 2 && missing === null) return []
  // The largest comes first: a reader stops at the first that fits.
  const rows = cases.toReversed().map((one) => [caseLabel(one, explanation), outcomeText(one), one.rules.join(', ')])
  const none = missing ? [['no such object', answerWord(missing), '']] : []
  return table([...rows, ...none])
}

/** The relations that make the case: `owner+draft`; what holds in every case isn't said. */
export function caseLabel({ relations: holding }: Case, { cases, relations }: Explanation): string {
  const certain = relations.filter(({ holds }) => holds === true).map(({ name }) => name)
  const names = holding.filter((name) => !certain.includes(name))
  if (names.length > 0) return names.join('+')
  return cases.length === 1 ? 'an object that exists' : 'otherwise'
}

/** The case that misses are told of. */
export function firstRefused(explanation: Explanation): string {
  const refused = explanation.cases.find(({ outcome }) => outcome === 'deny')
  return refused ? caseLabel(refused, explanation) : ''
}

function outcomeText({ listed, answer }: Case): string {
  if (listed !== null) return listed ? 'in the list' : 'not in the list'
  return answerWord(answer)
}

function answerWord({ status, code }: Answer): string {
  return code === null ? String(status) : `${status} ${code}`
}
