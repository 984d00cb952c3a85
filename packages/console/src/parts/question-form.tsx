/** A form whose fields become the page's address; the page asks what its address says. */
import type { ComponentChildren } from 'preact'
import { go } from '../shell/address.ts'

interface QuestionFormProps {
  readonly path: string
  /** What its button says. */
  readonly submit: string
  readonly children: ComponentChildren
}

export function QuestionForm({ path, submit, children }: QuestionFormProps) {
  const ask = (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    go(path, Object.fromEntries([...form].map(([name, value]) => [name, String(value).trim()])))
  }
  return (
    <form class="question" onSubmit={ask}>
      {children}
      <button type="submit" class="first">
        {submit}
      </button>
    </form>
  )
}
