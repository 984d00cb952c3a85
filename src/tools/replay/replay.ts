/** Every request of decision logs, decided again under a candidate policy, and compared with a baseline or the log. */

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { compare, wasRefusedByPolicy } from '../../analysis/replay/compare.ts'
import { type Again, decideAgain, type ReplayPolicy } from '../../analysis/replay/decide-again.ts'
import { LineTooLong, linesIn } from '../../base/files/lines.ts'
import type { Facts } from '../../decide/evidence.ts'
import { packPolicy } from '../../decide/rules/rule-table.ts'
import { Snapshots } from '../../decide/rules/snapshots.ts'
import { type DecisionRecord, isOfRequest, parseRecord } from '../../decision-log/decision-record.ts'
import type { ActivePolicy } from '../../policy/live/active-policy.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'
import { type LoadedPolicy, loadPolicy, type PolicyPlace, ToolError } from '../load-policy.ts'
import { type ReplayGroup, Tally, type Totals } from './tally.ts'

export interface ReplayReport extends Totals {
  readonly groups: readonly ReplayGroup[]
  /** Records outside of the requested time. */
  readonly leftOut: number
  /** Lines that hold no decision record. */
  readonly otherLines: number
}

/** Without a baseline, the candidate is compared with the answers of the log. */
interface ReplayPolicies {
  readonly candidate: ReplayPolicy
  readonly baseline: ReplayPolicy | undefined
}

interface ReplayOptions {
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

// ---- What another policy than the candidate answers to a recorded request, as a record: so the candidate is
// compared with that policy, and edits between the log and it are no differences.

/** The record that the baseline would have made, or why the log doesn't tell it. */
export async function recordUnder(
  baseline: ReplayPolicy,
  record: DecisionRecord,
): Promise<DecisionRecord | Extract<Again, { kind: 'undecidable' }>> {
  const { revision } = baseline.policyAt(Date.parse(record.time))
  if (record.revision === revision) return record
  // What the rows of a list showed then makes no difference: both policies are asked for it now.
  const again = await decideAgain(baseline, { ...record, revision })
  switch (again.kind) {
    case 'undecidable':
      return again
    case 'unconcerned':
      return record
    case 'further':
      return { kind: 'undecidable', why: again.why }
    case 'refused': {
      const { problem, status, fieldsRefused } = again
      const refused = fieldsRefused.length > 0 ? { fieldsRefused } : { fieldsRefused: undefined }
      return { ...record, revision, problem, status, ...refused }
    }
    case 'allowed': {
      const facts = { ...record.facts, ...shownBy(again.decision.evidence.facts) }
      if (!wasRefusedByPolicy(record)) return { ...record, revision, facts }
      return { ...record, revision, facts, problem: undefined, status: 200, fieldsRefused: undefined }
    }
  }
}

/** What a decision says of the objects and fields that a client sees. */
function shownBy({ where, shown, everywhere }: Facts): Facts {
  return { ...(where && { where }), ...(shown && { shown }), ...(everywhere && { everywhere }) }
}

// ---- A policy that is only compared: replay and shadow compare its decisions with the policy in force.

/** Throws FileError and ToolError. */
export async function openCandidate(place: PolicyPlace, resources: Resources): Promise<ReplayPolicy> {
  return replayPolicyOf(await loadPolicy(place, resources), resources)
}

export function replayPolicyOf(loaded: LoadedPolicy, resources: Resources): ReplayPolicy {
  const { policy, blocked, files, blockedFile } = loaded
  const revision = revisionOf(files, blockedFile)
  const snapshots = new Snapshots(packPolicy(policy), resources)
  const policyAt = (time: number): ActivePolicy => ({ revision, blocked, snapshot: snapshots.at(time) })
  return { resources, policyAt }
}

// ---- The decision records of log files, one after the other, however large the files are.

interface LogReader {
  /** Called for each record of a request. */
  readonly onRecord: (record: DecisionRecord) => Promise<void>
  /** Called for each line that is not a decision record. */
  readonly onOther: (line: string) => void
  /** Called for each line with its length, including the end of the line. */
  readonly onProgress: (bytes: number) => void
}

/** The bytes of all files together. Throws ToolError for a file that is missing or compressed. */
export async function sizeOf(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(sizeOfOne))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** In characters. No record is so long, and a file without line ends would not fit into the memory. */
const LONGEST_RECORD = 50_000_000

/** Throws ToolError for a line that is too long, and the errors of the file system. */
export async function readLog(file: string, { onRecord, onOther, onProgress }: LogReader): Promise<void> {
  try {
    for await (const line of linesIn(createReadStream(file, 'utf8'), LONGEST_RECORD)) {
      onProgress(line.length + 1)
      if (line === '') continue
      const record = parseRecord(line)
      if (!record) onOther(line)
      else if (isOfRequest(record)) await onRecord(record)
    }
  } catch (error) {
    if (error instanceof LineTooLong) throw new ToolError(`${file}: ${error.message} for a record: name decision logs`)
    throw error
  }
}

/** The first two bytes of each such file (RFC 1952). */
const GZIP = '1f8b'

async function sizeOfOne(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined)
  if (!found?.isFile()) throw new ToolError(`${file} is not a file: name decision logs`)
  for await (const begin of createReadStream(file, { end: 1 })) {
    if ((begin as Buffer).toString('hex') === GZIP)
      throw new ToolError(`${file} is compressed: unpack it first, as with gunzip`)
  }
  return found.size
}
