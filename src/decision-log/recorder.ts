/** How the records of requests come into the decision log: required, or as well as it goes (DECISION_LOG). */

import type { Masks } from '../decide/policy.ts'
import type { DecisionLog } from './decision-log.ts'
import type { DecisionRecord } from './decision-record.ts'
import { mask } from './mask.ts'

export interface Recorder {
  /**
   * Takes the record of a read or a refusal, before the answer; `masks`: of the policy that decided. Rejects with
   * RecordRefused where the answer needs its record.
   */
  note(record: DecisionRecord, masks: Masks): void | Promise<void>
  /** Takes the record of a write, which has committed with it. */
  committed(record: DecisionRecord): void
}

/** A record that must be written can't be: the request is refused. */
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

/** The log itself counts and tells lost records. */
export function bestEffortRecorder(log: Pick<DecisionLog, 'noteUnawaited' | 'committed'>): Recorder {
  return {
    note: (record, masks) => log.noteUnawaited(mask(record, masks)),
    committed: () => log.committed(),
  }
}

/** Shows every record, unmasked, to somebody else as well, who may not hold anything up. */
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
