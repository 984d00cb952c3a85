/** A replay as a report: the totals, then the differences by what they change. */

import type { ReplayChange } from '../../analysis/replay/compare.ts'
import { rulePlace } from '../../decide/evidence.ts'
import { printable } from '../../present/quote.ts'
import { formatsOf, type Paragraph, section } from '../../present/report.ts'
import { count } from '../../present/text.ts'
import type { ReplayReport } from './replay.ts'
import type { ReplayGroup } from './tally.ts'

export const REPLAY_FORMATS = formatsOf((report: ReplayReport) => ({
  /** The totals, then a paragraph for each group of differences. */
  text: () => {
    const sections = Object.entries(HEADINGS).map(([change, heading]) => {
      const groups = report.groups.filter((group) => group.change === change)
      return section(`${heading}: ${sum(groups)}`, groups.flatMap(groupLines))
    })
    return [summary(report), ...sections]
  },
  /** docs/schemas/policy-replay.schema.json is the shape. */
  json: () => {
    const { undecidable, groups, ...counts } = report
    const reasons = [...undecidable].map(([why, count]) => ({ why, count }))
    const differences = groups.map(({ roles = null, lines, ...group }) => {
      return { ...group, roles, rules: lines.map(rulePlace) }
    })
    return { ...counts, undecidable: reasons, differences }
  },
}))

const HEADINGS: Readonly<Record<ReplayChange, string>> = {
  'refused-now': 'Allowed before, refused under the candidate',
  'allowed-now': 'Refused before, allowed under the candidate',
  'perhaps-allowed-now': 'Refused before; the candidate may allow it, but the log does not hold enough to decide',
  'refused-otherwise': 'Refused before and under the candidate, but with another answer',
  'other-objects': 'Lists that the candidate filters differently',
  'other-fields': 'Allowed before and under the candidate, but other fields are shown',
}

function summary({ decided, same, unconcerned, undecidable, leftOut, otherLines }: ReplayReport): Paragraph {
  const reasons = [...undecidable].map(([why, count]) => `  ${count} could not be decided again: ${why}`)
  return [
    `${count(decided, 'request')} decided again: ${same} the same, ${decided - same} different.`,
    ...reasons,
    ...(unconcerned === 0
      ? []
      : [`  requests that ended before a policy was asked, or by a fault of the server: ${unconcerned}`]),
    ...(leftOut === 0 ? [] : [`  records outside the time of --since and --until: ${leftOut}`]),
    ...(otherLines === 0 ? [] : [`  lines that are not decision records: ${otherLines}`]),
  ].map(printable)
}

function groupLines(group: ReplayGroup): readonly string[] {
  const { count, method, route, roles, relations, was, becomes, lines, reach, fields, examples } = group
  const who = roles === undefined ? 'anonymous' : roles.join('+') || 'no role'
  const relating = relations.length === 0 ? '' : ` (${relations.join('+')})`
  const rules = lines.length === 0 ? 'no rule' : lines.map(rulePlace).join(', ')
  const objects = reach === undefined ? '' : reach === 'narrower' ? ', fewer objects' : ', more objects'
  const changed =
    fields && fields.was.length + fields.becomes.length > 0
      ? [`  fields: ${list(fields.was)} -> ${list(fields.becomes)}`]
      : []
  return [
    `${count} x ${who}: ${method} ${route}${relating}: ${was} -> ${becomes}${objects}, by ${rules}`,
    ...changed,
    `  as in ${examples.join(', ')}`,
  ].map(printable)
}

function list(fields: readonly string[]): string {
  return fields.length === 0 ? 'none' : fields.join(', ')
}

function sum(groups: readonly ReplayGroup[]): number {
  return groups.reduce((total, { count }) => total + count, 0)
}
