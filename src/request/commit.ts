/** The writes of one request: each commits together with the record of its decision, so that neither is without the other. */
import type { Outcome } from '../routes/outcome.ts'
import type { Writes } from '../routes/writes.ts'
import type { Alongside, CommitWith, Store } from '../store/contract.ts'

/** `alongside` tells what commits with a write of this outcome. */
export function createWrites(store: Store, alongside: (outcome: Outcome) => Alongside): Writes {
  const write = async <T>(
    commit: (commitWith: CommitWith<T>) => Promise<unknown>,
    outcomeOf: (written: T) => Outcome,
  ) => {
    let outcome: Outcome | undefined
    await commit((written) => {
      outcome = outcomeOf(written)
      return alongside(outcome)
    })
    if (!outcome) throw new Error('the store wrote without asking what commits alongside')
    return outcome
  }
  return {
    create: (permit, outcomeOf) => write((commitWith) => store.create(permit, commitWith), outcomeOf),
    update: (permit, outcomeOf) => write((commitWith) => store.update(permit, commitWith), outcomeOf),
    delete: (permit, outcomeOf) => write((commitWith) => store.delete(permit, commitWith), outcomeOf),
  }
}
