/**
 * The writes of one request. Each commits together with the record of its decision, so neither exists without the
 * other.
 */
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { mask } from '../../decision-log/mask.ts'
import { recordLine } from '../../decision-log/record-line.ts'
import type { Store } from '../../store/contract.ts'
import type { Outcome, RequestEnd, Writes } from '../routes/handler.ts'
import type { Writable } from '../stages/stage.ts'
import type { RequestState } from '../stages/state.ts'
import { recordOf } from './record.ts'

export function createWrites(store: Store, state: Writable<RequestState>): Writes {
  /** A request makes few records, so a list is searched. */
  const made: { readonly line: string; readonly unmasked: DecisionRecord }[] = []
  const record = (end: RequestEnd) => {
    const unmasked = recordOf({ ...state, ...end })
    const line = recordLine(mask(unmasked, state.masks))
    made.push({ line, unmasked })
    return line
  }
  const committed = (line: string) => {
    state.committed = made.findLast((one) => one.line === line)
  }
  const recorded = async (outcome: Outcome, write: (line: string) => Promise<unknown>) => {
    const line = record({ outcome })
    await write(line)
    committed(line)
    return outcome
  }
  return {
    create: (permit, outcome, { time, replay }) =>
      recorded(outcome, (line) => store.create(permit, { time, record: line, replay })),
    update: (permit, outcome, { time }) => recorded(outcome, (line) => store.update(permit, { time, record: line })),
    delete: (permit, outcome) => recorded(outcome, (line) => store.delete(permit, { record: line })),
    record,
    committed,
  }
}
