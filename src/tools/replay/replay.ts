/** Every request of decision logs, decided again under a candidate policy, and compared with a baseline or the log. */

import { compare } from '../../analysis/replay/compare.ts'
import { decideAgain, type ReplayPolicy } from '../../analysis/replay/decide-again.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { recordUnder } from './baseline.ts'
import { readLog } from './read-log.ts'
import { type Group, Tally, type Totals } from './tally.ts'

export interface ReplayReport extends Totals {
  readonly groups: readonly Group[]
  /** Records outside of the requested time. */
  readonly leftOut: number
  /** Lines that hold no decision record. */
  readonly otherLines: number
}

/** Without a baseline, the candidate is compared with the answers of the log. */
export interface ReplayPolicies {
  readonly candidate: ReplayPolicy
  readonly baseline: ReplayPolicy | undefined
}

export interface ReplayOptions {
  readonly files: readonly string[]
  /** Milliseconds since the epoch; only records of `since` and later, and before `until`. */
  readonly since: number
  readonly until: number
  readonly maxExamples: number
  /** Called for each line with its length in characters. */
  readonly onProgress: (characters: number) => void
}

export async function replay(policies: ReplayPolicies, options: ReplayOptions): Promise<ReplayReport> {
  const tally = new Tally(options.maxExamples)
  let leftOut = 0
  let otherLines = 0
  const onRecord = async (record: DecisionRecord) => {
    const time = Date.parse(record.time)
    if (time < options.since || time >= options.until) leftOut += 1
    else await replayOne(policies, record, tally)
  }
  const onOther = () => {
    otherLines += 1
  }
  for (const file of options.files) await readLog(file, { onRecord, onOther, onProgress: options.onProgress })
  return { ...tally.totals, groups: tally.groups, leftOut, otherLines }
}

async function replayOne({ candidate, baseline }: ReplayPolicies, record: DecisionRecord, tally: Tally): Promise<void> {
  const then = baseline ? await recordUnder(baseline, record) : record
  if ('kind' in then) {
    tally.add(record, then, undefined)
    return
  }
  const again = await decideAgain(candidate, then)
  const decided = again.kind !== 'unconcerned' && again.kind !== 'undecidable'
  tally.add(then, again, decided ? compare(then, again) : undefined)
}
