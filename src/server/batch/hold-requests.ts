/**
 * The requests of an atomic batch: their records and metrics are told when it is known whether they count. All records
 * commit with the batch, or tell that it was undone.
 */
import { CATALOGUE, type ProblemCode } from '../../base/problems/catalogue.ts'
import type { Masks } from '../../decide/policy.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { mask } from '../../decision-log/mask.ts'
import { recordLine } from '../../decision-log/record-line.ts'
import type { OpenTransaction, Transactions } from '../../store/contract.ts'
import { problemOf } from '../answers/to-problem.ts'
import type { AnswerParts } from '../stages/answer.ts'

type Observation = Parameters<AnswerParts['metrics']['observeRequest']>[0]

/** Where requests are told. */
type Told = Pick<AnswerParts, 'recorder' | 'metrics'>

/** A request failed, so the batch is undone. */
export class PartFailed extends Error {}

/** Throws PartFailed and what the transaction throws; then each request but the failed one is told as undone. */
export async function holding<T>(
  transactions: Transactions,
  told: Told,
  work: (open: OpenTransaction, held: Told) => Promise<T>,
): Promise<T> {
  const held = new HeldRequests()
  const run = async (open: OpenTransaction) => {
    const result = await work(open, held.told)
    await open.outbox.note(held.uncommitted())
    return result
  }
  try {
    const result = await transactions.run(run)
    held.tell(told)
    return result
  } catch (error) {
    if (error instanceof PartFailed) await held.undo(told, 'failed-dependency', 'but the last')
    else await held.undo(told, problemOf(error, undefined).code, 'all')
    throw error
  }
}

interface HeldRecord {
  readonly record: DecisionRecord
  readonly masks: Masks
  line: string | undefined
}

class HeldRequests {
  readonly #records: HeldRecord[] = []
  readonly #observed: Observation[] = []

  /** A request is noted once, and observed then. */
  readonly told: Told = {
    recorder: {
      note: (record, masks) => void this.#records.push({ record, masks, line: undefined }),
      committed: (record, line, masks) => void this.#records.push({ record, masks, line }),
    },
    metrics: { observeRequest: (observed) => void this.#observed.push(observed) },
  }

  /** The lines of the requests that wrote nothing. */
  uncommitted(): readonly string[] {
    return this.#records.flatMap((held) => {
      if (held.line !== undefined) return []
      held.line = recordLine(mask(held.record, held.masks))
      return [held.line]
    })
  }

  tell({ recorder, metrics }: Told): void {
    for (const { record, masks, line = '' } of this.#records) recorder.committed(record, line, masks)
    for (const observed of this.#observed) metrics.observeRequest(observed)
  }

  async undo({ recorder, metrics }: Told, code: ProblemCode, which: 'all' | 'but the last'): Promise<void> {
    const kept = which === 'all' ? -1 : this.#records.length - 1
    const { status } = CATALOGUE[code]
    for (const [at, observed] of this.#observed.entries()) {
      metrics.observeRequest(at === kept ? observed : { ...observed, status })
    }
    for (const [at, { record, masks }] of this.#records.entries()) {
      await recorder.note(at === kept ? record : undone(record, code), masks)
    }
  }
}

/** What it would have written isn't there. */
function undone({ along: _, ...record }: DecisionRecord, problem: ProblemCode): DecisionRecord {
  const { status } = CATALOGUE[problem]
  return { ...record, outcome: status < 500 ? 'refused' : 'failed', problem, status }
}
