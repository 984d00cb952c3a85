/** A cell, and until when it stays as it is: rules and blocks may end. */

import type { Block, Policy } from '../../decide/policy.ts'
import { endsOf, livingAt } from '../../decide/rules/ends.ts'
import type { Column } from '../../decide/space.ts'
import { type Cell, decideCell } from './cell.ts'
import type { RowPlan } from './rows.ts'

export interface TimedColumn extends Column {
  /** Undefined for who isn't in blocked.txt. */
  readonly block: Block | undefined
}

/** What holds at `now` (milliseconds since the epoch), with the moment from which on another outcome or other fields hold. */
export function decideInTime(policy: Policy, row: RowPlan, column: TimedColumn, now: number): Cell {
  const mine = { ...policy, rules: policy.rules.filter(({ subject }) => column.subjects.has(subject)) }
  const at = (time: number) => decideCell(livingAt(mine, time), row, { ...column, blocked: isBlocked(column, time) })
  const cell = at(now)
  const ends = endsOf([...mine.rules, { ...(column.block?.until === undefined ? {} : { until: column.block.until }) }])
  const until = ends.find((end) => end > now && meaningOf(at(end)) !== meaningOf(cell))
  return until === undefined ? cell : { ...cell, until }
}

function isBlocked({ block }: TimedColumn, time: number): boolean {
  return block !== undefined && (block.until === undefined || time < block.until)
}

function meaningOf({ outcome, granted, fields }: Cell): string {
  return JSON.stringify([outcome, granted, fields])
}
