/** Brings the records of requests into the decision log: required or best effort (DECISION_LOG). */

import type { Masks } from '../decide/policy.ts'
import type { DecisionLog } from './decision-log.ts'
import type { DecisionRecord } from './decision-record.ts'
import { type LogShares, logWriterOf } from './log-shares.ts'
import { mask } from './mask.ts'
import { recordLine } from './record-line.ts'

export interface Recorder {
  /**
   * Takes the record of a read or a refusal, before the answer; `masks`: those of the deciding policy. Rejects with
   * RecordRefused if the answer requires its record.
   */
  note(record: DecisionRecord, masks: Masks): void | Promise<void>
  /** Takes the record of a write, and its line, which was committed together with it; `masks`: those in the line. */
  committed(record: DecisionRecord, line: string, masks: Masks): void
}

/** A required record can't be written, so the request is refused. */
export class RecordRefused extends Error {
  constructor(cause: unknown) {
    super('the decision log is not available', { cause })
    this.name = 'RecordRefused'
  }
}

type Log = Pick<DecisionLog, 'note' | 'noteUnawaited' | 'committed'>

export function requiredRecorder(log: Omit<Log, 'noteUnawaited'>, shares: LogShares): Recorder {
  return {
    async note(record, masks) {
      const line = lineOf(record, masks, shares)
      if (line === undefined) return
      await log.note(line).catch((error) => {
        throw new RecordRefused(error)
      })
    },
    committed: committedTo(log, shares),
  }
}

/** The log itself counts and reports lost records. */
export function bestEffortRecorder(log: Omit<Log, 'note'>, shares: LogShares): Recorder {
  return {
    note(record, masks) {
      const line = lineOf(record, masks, shares)
      if (line !== undefined) log.noteUnawaited(line)
    },
    committed: committedTo(log, shares),
  }
}

/** Undefined for a record that another one stands for. */
function lineOf(record: DecisionRecord, masks: Masks, shares: LogShares): string | undefined {
  const toWrite = shares.toWrite(record)
  if (!toWrite) return undefined
  const line = recordLine(mask(toWrite, masks))
  shares.spend(logWriterOf(record), Buffer.byteLength(line))
  return line
}

function committedTo(log: Pick<Log, 'committed'>, shares: LogShares): Recorder['committed'] {
  return (record, line) => {
    shares.spend(logWriterOf(record), Buffer.byteLength(line))
    log.committed()
  }
}

/** Also passes every record, unmasked, to an observer, which must not cause delays. */
export function observedRecorder(recorder: Recorder, observe: (record: DecisionRecord) => void): Recorder {
  return {
    async note(record, masks) {
      await recorder.note(record, masks)
      observe(record)
    },
    committed(record, line, masks) {
      recorder.committed(record, line, masks)
      observe(record)
    },
  }
}
