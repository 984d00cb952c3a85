/** The number of columns in the lines of policy.csv, and the optional end (`until=`) of a `p` line. */

import { parseTime, timeFault } from '../../base/time.ts'
import type { Rule } from '../../decide/policy.ts'
import { count } from '../../present/text.ts'

/** Reports a fault of a cell (counted from 0, which is the `p` or `g`). */
export type CellFault = (cell: number, code: string, message: string, hint?: string | (() => string)) => void

type LineCells = readonly string[]

export const EXAMPLE = 'p, member, notes, read, owner, *, allow'

/** The number of columns of a `p` line without `until=`, and of a `g` line. */
const RULE_COLUMNS = 7
const LINK_COLUMNS = 3

const UNTIL = 'until='
const UNTIL_EXAMPLE = `write it as in: ${EXAMPLE}, until=2027-01-31T18:00:00Z`

export function hasRuleColumns(cells: LineCells, fault: CellFault): boolean {
  const behind = cells.slice(RULE_COLUMNS)
  const stray = behind.findIndex((cell) => !cell.startsWith(UNTIL))
  if (cells.length === RULE_COLUMNS || (behind.length === 1 && stray < 0)) return true
  if (behind.length > 1 && stray < 0) {
    fault(RULE_COLUMNS + 1, 'rule-until', 'the rule has several ends', 'keep one until=<time>')
    return false
  }
  const has = `the line has ${count(cells.length, 'column')}`
  const message = `${has}, but a \`p\` line has ${RULE_COLUMNS}, optionally followed by \`until=<time>\``
  const hint = behind.length === 1 ? UNTIL_EXAMPLE : `write it as in: ${EXAMPLE}`
  fault(stray < 0 ? cells.length : RULE_COLUMNS + stray, 'rule-columns', message, hint)
  return false
}

/** The end of a rule, if it has one; undefined if the text is not a valid time (docs/decisions/0044). */
export function parseEnd(cells: LineCells, fault: CellFault): Pick<Rule, 'until'> | undefined {
  const written = cells[RULE_COLUMNS]?.slice(UNTIL.length)
  if (written === undefined) return {}
  const until = parseTime(written)
  if (until !== undefined) return { until }
  fault(RULE_COLUMNS, 'rule-until', timeFault(written), UNTIL_EXAMPLE)
  return undefined
}

export function hasLinkColumns(cells: LineCells, fault: CellFault): boolean {
  if (cells.length === LINK_COLUMNS) return true
  if (cells.length === LINK_COLUMNS + 1 && cells[LINK_COLUMNS]?.startsWith(UNTIL)) {
    const message = 'a `g` line can not have an end'
    fault(LINK_COLUMNS, 'link-until', message, 'write until= on the rules that should end')
    return false
  }
  const message = `the line has ${count(cells.length, 'column')}, but a \`g\` line has ${LINK_COLUMNS}`
  fault(Math.min(cells.length, LINK_COLUMNS), 'rule-columns', message, 'write it as in: g, support, member')
  return false
}
