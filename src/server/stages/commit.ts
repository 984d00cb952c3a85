/** The writes of one request: each commits together with the record of its decision, so that neither is without the other. */
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { mask } from '../../decision-log/mask.ts'
import { lineOf } from '../../decision-log/record-line.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { CommitWith, Store } from '../../store/contract.ts'
import type { Outcome } from '../routes/outcome.ts'
import type { End, Writes } from '../routes/writes.ts'
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
    other: (change, endOf) => recorded(exchange, change, endOf),
  }
}

async function write<T>(
  exchange: Exchange,
  commit: (commitWith: CommitWith<T>) => Promise<unknown>,
  outcomeOf: (written: T) => Outcome,
): Promise<Outcome> {
  let outcome: Outcome | undefined
  await recorded(exchange, commit, (written: T) => {
    outcome = outcomeOf(written)
    return { outcome }
  })
  if (!outcome) throw new Error('the store wrote without asking what commits alongside')
  return outcome
}

async function recorded<T, R>(
  exchange: Exchange,
  change: (commitWith: CommitWith<T>) => Promise<R>,
  endOf: (changed: T) => End,
): Promise<R> {
  const made: DecisionRecord[] = []
  const result = await change((changed) => {
    const record = recordOf({ ...exchange, ...endOf(changed) })
    made.push(record)
    return { record: lineOf(mask(record, exchange.masks)) }
  })
  // Only now is it known to be in the store.
  exchange.committed = made[0]
  return result
}
