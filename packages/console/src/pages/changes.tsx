/** The versions of the policy, the changes that wait for people and what they say of them, and who is blocked. */
import { useState } from 'preact/hooks'
import { ask, type Told } from '../api/ask.ts'
import type { PolicyFiles, Proposal, Review, Version } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { ChangeList } from '../parts/lines.tsx'
import { Prose } from '../parts/prose.tsx'
import { Table } from '../parts/table.tsx'
import { dateTime } from '../parts/time.ts'
import { go, useAddress } from '../shell/address.ts'
import { useActing } from '../signing/act.ts'
import { Blocks } from '../signing/blocks.tsx'
import { Ended } from '../signing/ended.tsx'
import { Grants } from '../signing/grants.tsx'
import { OwnKeySection } from '../signing/own-key.tsx'
import { Saying } from '../signing/saying.tsx'
import { isTyped, takeVersion } from './draft-store.ts'
import { Dropping } from './dropping.tsx'

export function Changes() {
  const { step } = useAddress()
  const [acts, setActs] = useState(0)
  // Also asked again when somebody opens the page that is open.
  const turn = step + acts
  const inForce = useAnswer<PolicyFiles>({ path: '/policy/v1/files', turn })
  const changed = () => setActs((last) => last + 1)
  return (
    <div class="sheet">
      <section>
        <h2>Proposals</h2>
        <Answered answer={inForce} action="read">
          {({ source }) =>
            // Not asked of a folder, since each refused question stands in the decision log.
            source === 'published' ? (
              <ProposalList turn={turn} changed={changed} />
            ) : (
              <p>The policy of this server is a folder: its changes are proposed where the folder is kept.</p>
            )
          }
        </Answered>
      </section>
      {inForce.kind === 'told' && <OwnKeySection />}
      {inForce.kind === 'told' && inForce.value.source === 'published' && <Grants turn={turn} changed={changed} />}
      {inForce.kind === 'told' && <Blocks inForce={inForce.value} changed={changed} />}
      <Versions isPublished={inForce.kind === 'told' && inForce.value.source === 'published'} />
    </div>
  )
}

interface Following {
  /** Another number asks again. */
  readonly turn: number
  readonly changed: () => void
}

function ProposalList({ turn, changed }: Following) {
  const answer = useAnswer<Told<{ readonly proposals: readonly Proposal[] }>>({ path: '/policy/v1/proposals', turn })
  return (
    <Answered answer={answer} action="read">
      {({ command, result: { proposals } }) => (
        <>
          {proposals.length === 0 && <p>No change is proposed.</p>}
          {proposals.map((proposal) => (
            <ProposalView key={proposal.proposal} proposal={proposal} changed={changed} />
          ))}
          <Command text={command} />
        </>
      )}
    </Answered>
  )
}

function ProposalView({
  proposal: { proposal: number, title, by, state, said, time, notBefore, expires },
  changed,
}: {
  readonly proposal: Proposal
  readonly changed: () => void
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="rule" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class={`key ${state === 'open' ? 'untried' : 'neutral'}`}>{state}</span> {number}: {title ?? 'no title'} (
        {by ?? 'unknown'}
        {time === null ? '' : `, ${dateTime(time)}`})
      </summary>
      {notBefore !== null && <p>It is to be in force from {dateTime(notBefore)}, and instances publish it then.</p>}
      {state === 'open' && expires !== null && <p>It may be approved until {dateTime(expires)}.</p>}
      {said.map((one) => (
        <p key={`${one.key} ${one.says}`}>
          {one.by} has {one.says} it{one.reason === null ? '' : `: ${one.reason}`}.
        </p>
      ))}
      {isOpen && <ReviewOf number={number} />}
      {isOpen && state === 'open' && <Saying number={number} changed={changed} />}
      {state === 'open' && <Command text={`sallyport policy approve ${number} --key KEY`} />}
    </details>
  )
}

function ReviewOf({ number }: { readonly number: number }) {
  const answer = useAnswer<Told<Review>>({ path: '/policy/v1/review', body: { number } })
  return (
    <Answered answer={answer} action="read">
      {({ command, result: { diff, needs = [], matrices } }) => (
        <>
          <ChangeList changes={diff?.changes ?? []} />
          {needs.map(({ sentence, missing, open }) => (
            <p key={sentence}>
              <Prose text={sentence} />: {missing === 0 ? 'approved' : `${missing} missing, of ${open.join(', ')}`}.
            </p>
          ))}
          {matrices?.unmet && <p>Expectations of the matrices that it does not meet: {matrices.unmet.length}.</p>}
          <Command text={command} />
        </>
      )}
    </Answered>
  )
}

function Versions({ isPublished }: { readonly isPublished: boolean }) {
  const answer = useAnswer<Told<{ readonly versions: readonly Version[] }>>({ path: '/policy/v1/versions' })
  return (
    <section>
      <h2>Versions</h2>
      <Answered answer={answer} action="read">
        {({ command, result: { versions } }) => (
          <>
            {versions.length === 0 && <p>No version is kept yet.</p>}
            {versions.length > 0 && <VersionTable versions={versions} isPublished={isPublished} />}
            <Command text={command} />
          </>
        )}
      </Answered>
    </section>
  )
}

const HEADS = ['Version', 'Time', 'By', 'Kind', 'Reason', 'Revision']

interface VersionTableProps {
  readonly versions: readonly Version[]
  readonly isPublished: boolean
}

function VersionTable({ versions, isPublished }: VersionTableProps) {
  const [acting, run] = useActing('read')
  const [asked, setAsked] = useState<number>()
  const take = (number: number) => {
    setAsked(undefined)
    run(async () => {
      const named = { version: `database:${number}` }
      const { result } = await ask<Told<Pick<PolicyFiles, 'files'>>>('/policy/v1/version', named)
      takeVersion(await ask<PolicyFiles>('/policy/v1/files'), result.files)
      go('/draft')
      return ''
    })
  }
  const table = (
    <Table title="The newest first" heads={[...HEADS, ...(isPublished ? ['Go back to it'] : [])]}>
      {versions.map(({ number, time, user, kind, reason, of, revision }) => (
        <tr key={number}>
          <th scope="row">{number}</th>
          <td>{dateTime(time)}</td>
          <td>{user}</td>
          <td>{of === null ? kind : `${kind} to ${of}`}</td>
          <td>{reason}</td>
          <td class="mono">{revision}</td>
          {isPublished && (
            <td>
              <button
                type="button"
                disabled={acting.kind === 'busy'}
                onClick={() => (isTyped() ? setAsked(number) : take(number))}
              >
                Draft
              </button>
            </td>
          )}
        </tr>
      ))}
    </Table>
  )
  return (
    <>
      {table}
      <Ended acting={acting} />
      {asked !== undefined && <Dropping drop={() => take(asked)} keep={() => setAsked(undefined)} />}
    </>
  )
}
