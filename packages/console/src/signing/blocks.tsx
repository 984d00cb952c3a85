/** Blocks a user, and lets one in again: at once, or as a proposal where approvals.yaml asks others. */
import { useState } from 'preact/hooks'
import { ask, type Told } from '../api/ask.ts'
import type { PolicyFiles } from '../api/types.ts'
import { Field } from '../parts/field.tsx'
import { askSigned, useActing } from './act.ts'
import { Ended } from './ended.tsx'

interface BlocksProps {
  readonly inForce: PolicyFiles
  readonly changed: () => void
}

interface Blocked {
  readonly user: string
  readonly changed: boolean
  readonly proposal?: number | null
}

export function Blocks({ inForce, changed }: BlocksProps) {
  const [user, setUser] = useState('')
  const [reason, setReason] = useState('')
  const [until, setUntil] = useState('')
  const [acting, run] = useActing('block')
  // A folder takes blocks at once, also one with approvals.yaml.
  const isSigned = inForce.source === 'published' && inForce.files['approvals.yaml'] !== undefined
  const act = (word: 'block' | 'unblock') => () =>
    run(async () => {
      const more = word === 'block' ? { ...given('reason', reason), ...given('until', until) } : {}
      const path = `/policy/v1/${word}`
      const body = { user, ...more }
      const { result } = isSigned ? await askSigned<Blocked>(path, body) : await ask<Told<Blocked>>(path, body)
      changed()
      return sentenceAfter(result)
    })
  const isReady = acting.kind !== 'busy' && user.trim() !== ''
  return (
    <section aria-label="Blocked users">
      <h2>Blocked users</h2>
      <pre class="mono">{inForce.files['blocked.txt']?.trim() || 'Nobody is blocked.'}</pre>
      <form class="question" onSubmit={(event) => event.preventDefault()}>
        <Field label="User" name="user" value={user} placeholder="user:mallory" onInput={setUser} />
        <Field label="Until" name="until" value={until} placeholder="2h" onInput={setUntil} />
        <Field label="Why" name="why" value={reason} onInput={setReason} />
        <button type="button" disabled={!isReady} onClick={act('block')}>
          Block
        </button>
        <button type="button" disabled={!isReady} onClick={act('unblock')}>
          Unblock
        </button>
        <Ended acting={acting} />
      </form>
    </section>
  )
}

function given(name: string, text: string): object {
  return text.trim() === '' ? {} : { [name]: text }
}

function sentenceAfter({ user, changed, proposal }: Blocked): string {
  if (changed) return `The list is changed for \`${user}\`.`
  return proposal
    ? `Proposal ${proposal} waits for approvals: \`${user}\` is as before until then.`
    : 'Nothing had to change.'
}
