/**
 * Decides every request of decision logs again, and the questions that other services asked, under the version of the
 * policy that the record names.
 */
import { LRUCache } from 'lru-cache'
import { compare, type Difference } from '../../analysis/replay/compare.ts'
import { type Again, decideAgain, type ReplayPolicy } from '../../analysis/replay/decide-again.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { readLog } from '../replay/replay.ts'
import { decideQuestion, type QuestionAgain } from './decide-questions.ts'
import type { EvidencePeriod } from './period.ts'

/** A decision that the policy of its moment doesn't make. */
interface OtherDecision extends Omit<Difference, 'change'> {
  readonly change: Difference['change'] | 'other-answer'
  readonly requestId: string
  /** Of another service: the place of its question in the record, from 0. */
  readonly question?: number
  readonly time: string
  readonly revision: string
}

/** The lines of a log. */
export interface SignedLines {
  /** The oldest file first. */
  readonly files: readonly string[]
  /** So many lines are signed; those that follow may be anybody's. */
  readonly signed: number
}

export interface DecidedAll {
  /** Decisions that the policy makes again. */
  readonly same: number
  readonly different: number
  /** The first different one. */
  readonly first: OtherDecision | undefined
  /** By the reason: how many can't be decided again, because their records don't hold what is needed. */
  readonly undecided: ReadonlyMap<string, number>
  /** By the reason: how many can't be decided again, because the evidence lacks their policy. */
  readonly unknown: ReadonlyMap<string, number>
  /** Objects that requests showed, changed, deleted or named beside their own: a record holds only their ids. */
  readonly beside: number
  /** Requests that ended before a policy was asked, or by a fault of the server. */
  readonly unconcerned: number
  /** Lines that are no records. */
  readonly otherLines: number
}

/** A log is in the order of time, so that few versions decide at a time. */
const MOST_POLICIES = 16

/** `policyOf`: the policy of a revision, or the reason why the evidence has none. */
export async function decideAll(
  logs: readonly SignedLines[],
  { from, until }: EvidencePeriod,
  policyOf: (revision: string) => Promise<ReplayPolicy | string>,
): Promise<DecidedAll> {
  const tally = new DecisionTally()
  const policies = new LRUCache<string, ReplayPolicy | string>({ max: MOST_POLICIES })
  for (const { files, signed } of logs) {
    let line = 0
    const onRecord = async (record: DecisionRecord) => {
      const time = Date.parse(record.time)
      if (time < from || time >= until) return
      if (line > signed) return tally.leave(UNSIGNED)
      const { revision } = record
      const policy = policies.get(revision) ?? (await policyOf(revision))
      policies.set(revision, policy)
      await tally.add(record, policy)
    }
    const onProgress = (characters: number) => {
      // Of an empty line, nothing is signed.
      if (characters > 1) line += 1
    }
    const onOther = () => tally.addOther()
    for (const file of files) await readLog(file, { onRecord, onOther, onProgress })
  }
  return tally
}

class DecisionTally implements DecidedAll {
  same = 0
  different = 0
  first: OtherDecision | undefined
  readonly undecided = new Map<string, number>()
  readonly unknown = new Map<string, number>()
  beside = 0
  unconcerned = 0
  otherLines = 0

  addOther(): void {
    this.otherLines += 1
  }

  async add(record: DecisionRecord, policy: ReplayPolicy | string): Promise<void> {
    if (record.route === undefined) this.unconcerned += 1
    else if (typeof policy === 'string') this.leave(policy, this.unknown)
    else await this.#decide(record, policy)
  }

  async #decide(record: DecisionRecord, policy: ReplayPolicy): Promise<void> {
    const { asked = [], searched, expanded = [], along, parent, requestId, time, revision } = record
    const differs = (how: Omit<OtherDecision, 'requestId' | 'time' | 'revision'>) => {
      this.different += 1
      this.first ??= { requestId, time, revision, ...how }
    }
    const again = await decideAgain(policy, record)
    if (!this.#leaves(again)) {
      const difference = compare(record, again)
      if (difference) differs(difference)
      else this.same += 1
    }
    for (const place of asked.keys()) {
      const answer = await decideQuestion(policy, record, place)
      if (this.#leaves(answer)) continue
      if (answer.kind === 'different') differs({ ...answer.difference, change: 'other-answer', question: place })
      else this.same += 1
    }
    if (searched) this.leave(SEARCHES)
    const others = [...expanded, ...(along?.changed ?? []), ...(along?.deleted ?? []), ...(along?.created ?? [])]
    this.beside += others.length + (parent ? 1 : 0)
  }

  #leaves<T extends Again | QuestionAgain>(again: T): again is Extract<T, { kind: 'unconcerned' | 'undecidable' }> {
    if (again.kind === 'unconcerned') this.unconcerned += 1
    else if (again.kind === 'undecidable') this.leave(again.why)
    else return false
    return true
  }

  leave(why: string, kind = this.undecided): void {
    kind.set(why, (kind.get(why) ?? 0) + 1)
  }
}

const SEARCHES = 'a record holds only what a search of another service found, not why'
const UNSIGNED = 'newer than the last checkpoint of the log, so nobody has signed it'
