/** Roles for a time: who has one and why, what must be reviewed, and break-glass, which one person may give alone. */
import { useState } from 'preact/hooks'
import type { Told } from '../api/ask.ts'
import type { AccessGrant } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { Field } from '../parts/field.tsx'
import { dateTime } from '../parts/time.ts'
import { askSigned, useActing } from './act.ts'
import { Ended } from './ended.tsx'

interface GrantsProps {
  /** Another number asks again. */
  readonly turn: number
  readonly changed: () => void
}

export function Grants({ turn, changed }: GrantsProps) {
  const answer = useAnswer<Told<{ readonly grants: readonly AccessGrant[] }>>({ path: '/policy/v1/grants', turn })
  return (
    <section aria-label="Roles for a time">
      <h2>Roles for a time</h2>
      <Answered answer={answer} action="read">
        {({ command, result: { grants } }) => (
          <>
            {grants.length === 0 && <p>Nobody has a role for a time.</p>}
            {grants.map((grant) => (
              <GrantView key={grant.grant} grant={grant} changed={changed} />
            ))}
            <Command text={command} />
          </>
        )}
      </Answered>
      <BreakGlass changed={changed} />
    </section>
  )
}

interface GrantViewProps {
  readonly grant: AccessGrant
  readonly changed: () => void
}

function GrantView({ grant, changed }: GrantViewProps) {
  const { grant: number, kind, state, role, to, by, reason, until, approvals, review, reviewUntil } = grant
  const wantsReview = kind === 'break-glass' && review === null && state !== 'refused'
  return (
    <details class="rule" open={wantsReview}>
      <summary>
        <span class={`key ${state === 'in force' ? 'untried' : 'neutral'}`}>{state}</span> {number}: {role} for {to}{' '}
        until {dateTime(until)} ({kind}
        {by === null ? '' : ` by ${by}`})
      </summary>
      <p>{reason}</p>
      {approvals.map((one) => (
        <p key={one.by}>
          {one.by} has approved it{one.text === null ? '' : `: ${one.text}`}.
        </p>
      ))}
      {review && (
        <p>
          {review.by} has reviewed it: {review.text}
        </p>
      )}
      {wantsReview && reviewUntil !== null && (
        <p class="bad">Somebody else must review it until {dateTime(reviewUntil)}.</p>
      )}
      <SayingOfGrant grant={grant} wantsReview={wantsReview} changed={changed} />
    </details>
  )
}

function SayingOfGrant({ grant, wantsReview, changed }: GrantViewProps & { readonly wantsReview: boolean }) {
  const [text, setText] = useState('')
  const [acting, run] = useActing('approve')
  const { grant: number, state } = grant
  const say = (word: string, done: string) => () =>
    run(async () => {
      const said = text.trim() === '' ? {} : { [word === 'review-glass' ? 'finding' : 'reason']: text.trim() }
      await askSigned(`/policy/v1/${word}`, { number, ...said })
      changed()
      return done
    })
  const isBusy = acting.kind === 'busy'
  const isOpen = state === 'waiting' || state === 'in force'
  if (!isOpen && !wantsReview) return null
  return (
    <form class="question" onSubmit={(event) => event.preventDefault()}>
      <Field label={wantsReview ? 'Finding, or reason' : 'Reason'} name="text" value={text} onInput={setText} />
      {wantsReview && (
        <button
          type="button"
          class="first"
          disabled={isBusy || text.trim() === ''}
          title="Needs a finding"
          onClick={say('review-glass', 'You have reviewed it.')}
        >
          Sign the finding
        </button>
      )}
      {state === 'waiting' && (
        <button type="button" disabled={isBusy} onClick={say('approve-grant', 'You have approved it.')}>
          Approve the role
        </button>
      )}
      {isOpen && (
        <button type="button" disabled={isBusy} onClick={say('revoke-grant', 'You have taken it back.')}>
          Take it back
        </button>
      )}
      <Ended acting={acting} />
    </form>
  )
}

function BreakGlass({ changed }: { readonly changed: () => void }) {
  const [asked, setAsked] = useState({ role: '', to: '', for: '1h', reason: '' })
  const [acting, run] = useActing('approve')
  const field = (name: keyof typeof asked, label: string, placeholder: string) => (
    <Field
      label={label}
      name={name}
      value={asked[name]}
      placeholder={placeholder}
      isRequired
      onInput={(value) => setAsked((last) => ({ ...last, [name]: value }))}
    />
  )
  const give = (event: SubmitEvent) => {
    event.preventDefault()
    run(async () => {
      const { result } = await askSigned<AccessGrant>('/policy/v1/break-glass', asked)
      changed()
      return `${result.role} is given to \`${result.to}\`, and somebody else must review it.`
    })
  }
  return (
    <details class="rule">
      <summary>Break the glass: give a role at once, in an emergency</summary>
      <form class="question" onSubmit={give}>
        {field('role', 'Role', 'admin')}
        {field('to', 'To', 'user:alice')}
        {field('for', 'For', '1h')}
        {field('reason', 'Why', 'payments are down')}
        <button type="submit" disabled={acting.kind === 'busy'}>
          Give the role
        </button>
        <Ended acting={acting} />
      </form>
    </details>
  )
}
