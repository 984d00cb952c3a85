/** Many questions of one request, answered in slices, so that other requests are answered in between. */
import { onceAllKnown } from '../../base/now-or-later.ts'
import type { Asker } from './asker.ts'

/** Nobody knows yet how long a question takes: some decide about many conditions, under a policy that is new. */
const FIRST_TOGETHER = 4

/** In milliseconds: other requests wait no longer for a slice, unless one question takes longer. */
const SLICE_MS = 5

interface InSlices<Q, A> {
  /** Questions that are answered at the same time, at most: a store may answer their needs together. */
  readonly most: number
  readonly answer: (question: Q) => A | Promise<A>
  /** Whether the questions after this answer are left out; with such an end, `most` is 1. */
  readonly isLast?: (answer: A) => boolean
}

/** Rejects with the signal's reason soon after the client is gone. */
export async function answerInSlices<Q, A>(
  asker: Asker,
  questions: readonly Q[],
  { most, answer, isLast = () => false }: InSlices<Q, A>,
): Promise<readonly A[]> {
  const { turn, gone } = asker
  const answered: A[] = []
  let size = Math.min(most, FIRST_TOGETHER)
  let since = Number.NEGATIVE_INFINITY
  while (answered.length < questions.length) {
    if (performance.now() - since >= SLICE_MS) {
      await turn()
      gone.throwIfAborted()
      since = performance.now()
    }
    const group = questions.slice(answered.length, answered.length + size)
    const begun = performance.now()
    const answers = asker.store.atOnce(() => onceAllKnown(group.map(answer)))
    // While a store is waited for, others are answered.
    size = performance.now() - begun < SLICE_MS / 2 ? Math.min(most, 2 * size) : 1
    answered.push(...(answers instanceof Promise ? await answers : answers))
    const last = answered.at(-1)
    if (last !== undefined && isLast(last)) break
  }
  return answered
}
