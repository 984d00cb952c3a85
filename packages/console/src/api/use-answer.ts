/** The answer to a question that a component shows; another question takes its place. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask, Refused } from './ask.ts'
import type { Problem } from './problem.ts'

export type Answer<T> =
  | { readonly kind: 'none' }
  | { readonly kind: 'waiting' }
  | { readonly kind: 'refused'; readonly problem: Problem }
  | { readonly kind: 'told'; readonly value: T }

export interface Question {
  readonly path: string
  readonly body?: object
  /** Another number asks again; the last answer stays until the next one is there. */
  readonly turn?: number
  /** Stands for a body that is long: another key is another question. */
  readonly key?: string
}

/** `question`: undefined asks nothing. */
export function useAnswer<T>(question: Question | undefined): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ kind: question ? 'waiting' : 'none' })
  const key = question?.key ?? JSON.stringify(question)
  const asked = question && JSON.stringify({ ...question, turn: undefined })
  const last = useRef(asked)
  useEffect(() => {
    if (!question) {
      setAnswer({ kind: 'none' })
      return
    }
    const leaving = new AbortController()
    if (last.current !== asked || question.turn === undefined) setAnswer({ kind: 'waiting' })
    last.current = asked
    ask<T>(question.path, question.body, leaving.signal).then(
      (value) => setAnswer({ kind: 'told', value }),
      (error: unknown) => {
        if (leaving.signal.aborted) return
        if (!(error instanceof Refused)) throw error
        setAnswer({ kind: 'refused', problem: error.problem })
      },
    )
    return () => leaving.abort()
  }, [key])
  return answer
}
