/** Proposes the draft: one button, where the policy is published and other people approve it. */
import { useState } from 'preact/hooks'
import type { PolicyFiles } from '../api/types.ts'
import { Field } from '../parts/field.tsx'
import { Link } from '../shell/link.tsx'
import { askSigned, useActing } from './act.ts'
import { Ended } from './ended.tsx'

interface ProposingProps {
  readonly inForce: PolicyFiles
  readonly files: Readonly<Record<string, string | null>>
}

interface Proposed {
  readonly proposal: number | null
}

export function Proposing({ inForce, files }: ProposingProps) {
  const [title, setTitle] = useState('')
  const [begin, setBegin] = useState('')
  const [expires, setExpires] = useState('')
  const [acting, run] = useActing('propose')
  if (inForce.source !== 'published' || inForce.files['approvals.yaml'] === undefined) return null
  const propose = (event: SubmitEvent) => {
    event.preventDefault()
    run(async () => {
      const { result } = await askSigned<Proposed>('/policy/v1/propose', {
        files,
        title,
        ...(begin !== '' && { notBefore: new Date(begin).toISOString() }),
        ...(expires.trim() !== '' && { expires: expires.trim() }),
      })
      if (result.proposal === null) throw new Error('Nothing was proposed: the files have errors.')
      return `It is proposal ${result.proposal}.`
    })
  }
  return (
    <form class="question" onSubmit={propose}>
      <Field label="What it is for, in a sentence" name="title" value={title} isRequired onInput={setTitle} />
      <Field label="In force from" name="notBefore" type="datetime-local" value={begin} onInput={setBegin} />
      <Field label="To be approved within" name="expires" value={expires} placeholder="7d" onInput={setExpires} />
      <button type="submit" class="first" disabled={acting.kind === 'busy'}>
        Propose
      </button>
      <Ended acting={acting} />
      {acting.kind === 'done' && <Link to="/changes">See the proposals</Link>}
    </form>
  )
}
