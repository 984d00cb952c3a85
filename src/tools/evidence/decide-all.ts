/** Decides every request of decision logs again, under the version of the policy that its record names. */
import { compare, type Difference } from '../../analysis/replay/compare.ts'
import { decideAgain, type ReplayPolicy } from '../../analysis/replay/decide-again.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { readLog } from '../replay/replay.ts'
import type { EvidencePeriod } from './period.ts'

/** A decision that the policy of its moment doesn't make. */
interface OtherDecision extends Difference {
  readonly requestId: string
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
  /** How many could not be decided again because of what their records have, by why. */
  readonly undecided: ReadonlyMap<string, number>
  /** How many could not be decided again because the evidence lacks their policy, by why. */
  readonly unknown: ReadonlyMap<string, number>
  /** Requests that ended before a policy was asked, or by a fault of the server. */
  readonly unconcerned: number
  /** Lines that are no records. */
  readonly otherLines: number
}

/** `policyOf`: a text says why there is none. */
export async function decideAll(
  logs: readonly SignedLines[],
  { from, until }: EvidencePeriod,
  policyOf: (revision: string) => Promise<ReplayPolicy | string>,
): Promise<DecidedAll> {
  const tally = new DecisionTally()
  const policies = new Map<string, ReplayPolicy | string>()
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
    const again = await decideAgain(policy, record)
    if (again.kind === 'unconcerned') this.unconcerned += 1
    else if (again.kind === 'undecidable') this.leave(again.why)
    else if ((record.asked?.length ?? 0) > 0 || record.searched) this.leave(QUESTIONS)
    else this.#compare(record, compare(record, again))
  }

  #compare({ requestId, time, revision }: DecisionRecord, difference: Difference | undefined): void {
    if (!difference) {
      this.same += 1
      return
    }
    this.different += 1
    this.first ??= { requestId, time, revision, ...difference }
  }

  leave(why: string, kind = this.undecided): void {
    kind.set(why, (kind.get(why) ?? 0) + 1)
  }
}

const QUESTIONS = 'the questions of another service are not decided again'
const UNSIGNED = 'newer than the last checkpoint of the log, so nobody has signed it'
