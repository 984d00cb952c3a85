/** A diff as a comment on a pull request. Names come from whoever proposed the files: they stay text (phrase.ts). */

import { markdownText, say } from '../../present/phrase.ts'
import { equivalence, type PolicyDiff } from './compare-policies.ts'
import { sectionsOf, summaryOf } from './format-text.ts'

/** GitHub refuses a comment of more than 65,536 characters. */
const MOST_CHARACTERS = 60_000

export function diffMarkdown(report: PolicyDiff): string {
  const { before, after } = report.names
  const title = `### Policy diff: ${markdownText(say`${before} → ${after}`)}`
  const same = equivalence(report)
  if (same !== undefined) return `${title}\n\n${same}\n`
  const rows = sectionsOf(report).flatMap(({ direction, sentences }) =>
    sentences.map((sentence) => `| **${direction}** | ${markdownText(sentence)} |`),
  )
  return `${title}\n\n${summaryOf(report)}\n\n| direction | change |\n| --- | --- |\n${fitting(rows)}\n`
}

/** What doesn't fit is counted. */
function fitting(rows: readonly string[]): string {
  let left = MOST_CHARACTERS
  const shown = rows.filter((row) => {
    left -= row.length + 1
    return left >= 0
  })
  const more = rows.length - shown.length
  return [...shown, ...(more > 0 ? [`| | and ${more} more, which \`sallyport policy diff\` tells |`] : [])].join('\n')
}
