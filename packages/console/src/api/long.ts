/** A question that takes long: a button asks it, and its answer stays while other pages are looked at. */
import { createStore, type Store } from '../parts/store.ts'
import { ask, Refused } from './ask.ts'
import { session } from './session.ts'
import type { Answer } from './use-answer.ts'

interface LongQuestion<T> {
  readonly answer: Store<Answer<T>>
  /** In place of the one before. */
  readonly ask: (path: string, body: object, told?: (value: T, signal: AbortSignal) => unknown) => void
  /** The server ends it too. */
  readonly stop: () => void
}

export function createLong<T>(): LongQuestion<T> {
  const answer = createStore<Answer<T>>({ kind: 'none' })
  let leaving = new AbortController()
  const stop = () => {
    leaving.abort()
    answer.set({ kind: 'none' })
  }
  // Another person must not find it.
  session.follow(() => {
    if (session.get().kind === 'none') stop()
  })
  return {
    answer,
    stop,
    ask: (path, body, told) => {
      leaving.abort()
      leaving = new AbortController()
      const { signal } = leaving
      answer.set({ kind: 'waiting' })
      ask<T>(path, body, signal)
        .then(async (value) => {
          await told?.(value, signal)
          signal.throwIfAborted()
          answer.set({ kind: 'told', value })
        })
        .catch((error: unknown) => {
          if (signal.aborted) return
          if (!(error instanceof Refused)) throw error
          answer.set({ kind: 'refused', problem: error.problem })
        })
    },
  }
}
