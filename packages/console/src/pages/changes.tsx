/** The versions of the policy, and the changes that wait for people. Keys approve on a command line, not here. */
import { useState } from 'preact/hooks'
import type { Told } from '../api/ask.ts'
import type { PolicyFiles, Proposal, Review, Version } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { ChangeList } from '../parts/lines.tsx'
import { Prose } from '../parts/prose.tsx'
import { Table } from '../parts/table.tsx'
import { dateTime } from '../parts/time.ts'

export function Changes() {
  return (
    <div class="sheet">
      <Proposals />
      <Versions />
    </div>
  )
}

/** Not asked of a folder, since each refused question stands in the decision log. */
function Proposals() {
  const inForce = useAnswer<PolicyFiles>({ path: '/policy/v1/files' })
  return (
    <section>
      <h2>Proposals</h2>
      <Answered answer={inForce} action="read">
        {({ source }) =>
          source === 'published' ? (
            <ProposalList />
          ) : (
            <p>The policy of this server is a folder: its changes are proposed where the folder is kept.</p>
          )
        }
      </Answered>
    </section>
  )
}

function ProposalList() {
  const answer = useAnswer<Told<{ readonly proposals: readonly Proposal[] }>>({ path: '/policy/v1/proposals' })
  return (
    <Answered answer={answer} action="read">
      {({ command, result: { proposals } }) => (
        <>
          {proposals.length === 0 && <p>No change is proposed.</p>}
          {proposals.map((proposal) => (
            <ProposalView key={proposal.proposal} proposal={proposal} />
          ))}
          <Command text={command} />
        </>
      )}
    </Answered>
  )
}

function ProposalView({
  proposal: { proposal: number, title, by, state, said, time },
}: {
  readonly proposal: Proposal
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="rule" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class={`key ${state === 'open' ? 'untried' : 'neutral'}`}>{state}</span> {number}: {title ?? 'no title'} (
        {by ?? 'unknown'}
        {time === null ? '' : `, ${dateTime(time)}`})
      </summary>
      {said.map((one) => (
        <p key={`${one.key} ${one.says}`}>
          {one.by} has {one.says} it{one.reason === null ? '' : `: ${one.reason}`}.
        </p>
      ))}
      {isOpen && <ReviewOf number={number} />}
      {state === 'open' && <Command text={`sallyport policy approve ${number}`} />}
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

function Versions() {
  const answer = useAnswer<Told<{ readonly versions: readonly Version[] }>>({ path: '/policy/v1/versions' })
  return (
    <section>
      <h2>Versions</h2>
      <Answered answer={answer} action="read">
        {({ command, result: { versions } }) => (
          <>
            {versions.length === 0 && <p>No version is kept yet.</p>}
            {versions.length > 0 && <VersionTable versions={versions} />}
            <Command text={command} />
          </>
        )}
      </Answered>
    </section>
  )
}

function VersionTable({ versions }: { readonly versions: readonly Version[] }) {
  return (
    <Table title="The newest first" heads={['Version', 'Time', 'By', 'Kind', 'Reason', 'Revision']}>
      {versions.map(({ number, time, user, kind, reason, of, revision }) => (
        <tr key={number}>
          <th scope="row">{number}</th>
          <td>{dateTime(time)}</td>
          <td>{user}</td>
          <td>{of === null ? kind : `${kind} to ${of}`}</td>
          <td>{reason}</td>
          <td class="mono">{revision}</td>
        </tr>
      ))}
    </Table>
  )
}
