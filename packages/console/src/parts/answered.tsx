/** What stands in the place of an answer until it is there, and where it was refused. */
import type { ComponentChildren } from 'preact'
import type { Problem } from '../api/problem.ts'
import type { Answer } from '../api/use-answer.ts'
import type { PageInfo } from '../pages.ts'
import { Prose } from './prose.tsx'

interface AnsweredProps<T> {
  readonly answer: Answer<T>
  /** What the question needs. */
  readonly action: PageInfo['action']
  readonly children: (value: T) => ComponentChildren
}

export function Answered<T>({ answer, action, children }: AnsweredProps<T>) {
  switch (answer.kind) {
    case 'none':
      return null
    case 'waiting':
      return (
        <p class="sentence quiet" aria-busy="true">
          The server is asked…
        </p>
      )
    case 'refused':
      return (
        <p class="sentence" role="alert">
          <Prose text={sentenceOf(answer.problem, action)} />
        </p>
      )
    case 'told':
      return <>{children(answer.value)}</>
  }
}

export function sentenceOf({ status, sentence }: Problem, action: string): string {
  if (status !== 403) return sentence
  return `Your roles don't grant the action \`${action}\` of \`system/policy\`: ask for a rule in policy.csv that does.`
}
