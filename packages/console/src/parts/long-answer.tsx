/** The answer of a question that takes long, with a button that stops it. */
import type { ComponentChildren } from 'preact'
import type { createLong } from '../api/long.ts'
import type { PageInfo } from '../pages.ts'
import { Answered } from './answered.tsx'
import { useStore } from './store.ts'

interface LongAnswerProps<T> {
  readonly title: string
  readonly of: ReturnType<typeof createLong<T>>
  readonly action: PageInfo['action']
  /** Until it is asked. */
  readonly none?: string
  readonly children: (value: T) => ComponentChildren
}

export function LongAnswer<T>({ title, of, action, none, children }: LongAnswerProps<T>) {
  const answer = useStore(of.answer)
  if (answer.kind === 'none') return none === undefined ? null : <p class="quiet">{none}</p>
  return (
    <section>
      <h2>{title}</h2>
      {answer.kind === 'waiting' && (
        <button type="button" onClick={of.stop}>
          Stop
        </button>
      )}
      <Answered answer={answer} action={action}>
        {children}
      </Answered>
    </section>
  )
}
