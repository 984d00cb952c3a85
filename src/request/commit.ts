/** The writes of one request: each commits together with the record of its decision, so that neither is without the other. */
import type { DecisionRecord } from '../decision-log/decision-record.ts'
import { mask } from '../decision-log/mask.ts'
import { lineOf } from '../decision-log/record-line.ts'
import type { Outcome } from '../routes/outcome.ts'
import type { Writes } from '../routes/writes.ts'
import type { CommitWith, Store, StoredObject } from '../store/contract.ts'
import { type Exchange, recordOf } from './record.ts'

export function createWrites(store: Store, exchange: Exchange): Writes {
  return {
    create: (permit, outcomeOf, replay) => {
      const commit = (commitWith: CommitWith<StoredObject>) =>
        store.create(permit, (created) => ({ ...commitWith(created), ...(replay && { replay }) }))
      return write(exchange, commit, outcomeOf)
    },
    update: (permit, outcomeOf) => write(exchange, (commitWith) => store.update(permit, commitWith), outcomeOf),
    delete: (permit, outcomeOf) => write(exchange, (commitWith) => store.delete(permit, commitWith), outcomeOf),
  }
}

async function write<T>(
  exchange: Exchange,
  commit: (commitWith: CommitWith<T>) => Promise<unknown>,
  outcomeOf: (written: T) => Outcome,
): Promise<Outcome> {
  let made: { readonly outcome: Outcome; readonly record: DecisionRecord } | undefined
  await commit((written) => {
    const outcome = outcomeOf(written)
    const record = recordOf({ ...exchange, outcome })
    made = { outcome, record }
    return { record: lineOf(mask(record, exchange.masks)) }
  })
  if (!made) throw new Error('the store wrote without asking what commits alongside')
  exchange.committed = made.record
  return made.outcome
}
