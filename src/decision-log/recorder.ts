/** Brings the records of requests into the decision log: required or best effort (DECISION_LOG). */

import type { Masks } from '../decide/policy.ts'
import type { DecisionLog } from './decision-log.ts'
import type { DecisionRecord } from './decision-record.ts'
import { mask } from './mask.ts'

export interface Recorder {
  /**
   * Takes the record of a read or a refusal, before the answer; `masks`: those of the deciding policy. Rejects with
   * RecordRefused if the answer requires its record.
   */
  note(record: DecisionRecord, masks: Masks): void | Promise<void>
  /** Takes the record of a write, which was committed together with it. */
  committed(record: DecisionRecord): void
}

/** A required record can't be written, so the request is refused. */
export class RecordRefused extends Error {
  constructor(cause: unknown) {
    super('the decision log is not available', { cause })
    this.name = 'RecordRefused'
  }
}

export function requiredRecorder(log: Pick<DecisionLog, 'note' | 'committed'>): Recorder {
  return {
    async note(record, masks) {
      await log.note(mask(record, masks)).catch((error) => {
        throw new RecordRefused(error)
      })
    },
    committed: () => log.committed(),
  }
}

/** The log itself counts and reports lost records. */
export function bestEffortRecorder(log: Pick<DecisionLog, 'noteUnawaited' | 'committed'>): Recorder {
  return {
    note: (record, masks) => log.noteUnawaited(mask(record, masks)),
    committed: () => log.committed(),
  }
}

/** Also passes every record, unmasked, to an observer, which must not cause delays. */
export function observedRecorder(recorder: Recorder, observe: (record: DecisionRecord) => void): Recorder {
  return {
    async note(record, masks) {
      await recorder.note(record, masks)
      observe(record)
    },
    committed(record) {
      recorder.committed(record)
      observe(record)
    },
  }
}
