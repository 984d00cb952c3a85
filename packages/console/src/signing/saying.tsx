/** What a person says about a proposal. */
import { useState } from 'preact/hooks'
import { ask, type Told } from '../api/ask.ts'
import { Field } from '../parts/field.tsx'
import { askSigned, useActing } from './act.ts'
import { Ended } from './ended.tsx'

interface SayingProps {
  readonly number: number
  /** Something was said, so the list is old. */
  readonly changed: () => void
}

interface Said {
  readonly missing?: readonly { readonly sentence: string; readonly missing: number }[]
}

export function Saying({ number, changed }: SayingProps) {
  const [reason, setReason] = useState('')
  const [acting, run] = useActing('approve')
  const isBusy = acting.kind === 'busy'
  const say = (word: 'approve' | 'reject' | 'withdraw', done: string) => () =>
    run(async () => {
      const body = { number, ...(reason.trim() !== '' && { reason }) }
      const { result } = await askSigned<Said>(`/policy/v1/${word}`, body)
      changed()
      const missing = (result.missing ?? []).map((one) => `${one.sentence}: ${one.missing} missing`)
      return missing.length === 0 ? done : `${done} It still needs the approval of ${missing.join('; ')}.`
    })
  const publish = () =>
    run(async () => {
      const { result } = await ask<Told<{ readonly version: number }>>('/policy/v1/publish', { number })
      changed()
      return `It is version ${result.version}.`
    })
  return (
    <form class="question" onSubmit={(event) => event.preventDefault()}>
      <Field label="Reason" name="reason" value={reason} onInput={setReason} />
      <button type="button" class="first" disabled={isBusy} onClick={say('approve', 'You have approved it.')}>
        Approve
      </button>
      <button
        type="button"
        disabled={isBusy || reason.trim() === ''}
        title="Needs a reason"
        onClick={say('reject', 'You have rejected it.')}
      >
        Reject
      </button>
      <button type="button" disabled={isBusy} onClick={say('withdraw', 'You have withdrawn it.')}>
        Withdraw
      </button>
      <button type="button" disabled={isBusy} onClick={publish}>
        Put in force
      </button>
      <Ended acting={acting} />
    </form>
  )
}
