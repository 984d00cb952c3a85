/** What is in force, since when, whether it is well, and what was refused in the last hour. */
import { useMemo } from 'preact/hooks'
import type { Told } from '../api/ask.ts'
import type { Checked, DecisionRecord, Guarantee, Instance, PolicyFiles } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { LazyCurve } from '../parts/lazy-curve.tsx'
import { FindingText } from '../parts/lines.tsx'
import { Prose } from '../parts/prose.tsx'
import { dateTime } from '../parts/time.ts'
import { Link } from '../shell/link.tsx'

export function Overview() {
  return (
    <div class="sheet">
      <InForce />
      <Check />
      <Refusals />
    </div>
  )
}

function InForce() {
  const answer = useAnswer<PolicyFiles>({ path: '/policy/v1/files' })
  return (
    <section>
      <h2>In force</h2>
      <Answered answer={answer} action="read">
        {({ revision, since, source, faults, files }) => (
          <>
            <dl class="facts">
              <dt>Revision</dt>
              <dd class="mono">{revision}</dd>
              <dt>Since</dt>
              <dd>{dateTime(since)}</dd>
              <dt>Comes from</dt>
              <dd>{source === 'folder' ? 'a folder of the server' : 'versions that are published in the database'}</dd>
              <dt>Files</dt>
              <dd>{Object.keys(files).join(', ')}</dd>
            </dl>
            {source === 'published' && <Instances />}
            {faults.map((fault) => (
              <p key={fault} class="key wrong wide">
                {fault}
              </p>
            ))}
          </>
        )}
      </Answered>
    </section>
  )
}

/** Those that follow the published versions. */
function Instances() {
  const answer = useAnswer<Told<{ readonly instances: readonly Instance[] }>>({ path: '/policy/v1/instances' })
  if (answer.kind !== 'told' || answer.value.result.instances.length === 0) return null
  const { command, result } = answer.value
  return (
    <>
      <h3>Instances</h3>
      <ul class="plain">
        {result.instances.map(({ instance, state, sequence, faults }) => (
          <li key={instance}>
            <span class={`key ${state === 'current' ? 'expected' : 'wrong'}`}>{state}</span> {instance}: version{' '}
            {sequence} {faults.join('; ')}
          </li>
        ))}
      </ul>
      <Command text={command} />
    </>
  )
}

function Check() {
  const answer = useAnswer<Told<Checked>>({ path: '/policy/v1/check' })
  return (
    <section>
      <h2>Findings and guarantees</h2>
      <Answered answer={answer} action="read">
        {({ command, result: { errors, warnings, suppressed, findings, guarantees } }) => (
          <>
            <p>
              {counted(errors, 'error')}, {counted(warnings, 'warning')}, {counted(suppressed, 'suppressed warning')}.
            </p>
            <ul class="plain">
              {findings.map((finding) => (
                <li key={`${finding.file}:${finding.line}:${finding.code}`}>
                  <FindingText finding={finding} />
                </li>
              ))}
            </ul>
            {guarantees.length === 0 && (
              <p>
                No guarantee says what must always hold. <code>sallyport policy suggest-guarantees</code> proposes some.
              </p>
            )}
            <ul class="plain">
              {guarantees.map((guarantee) => (
                <GuaranteeLine key={guarantee.name} guarantee={guarantee} />
              ))}
            </ul>
            <Command text={command} />
          </>
        )}
      </Answered>
    </section>
  )
}

function GuaranteeLine({ guarantee: { name, status, reason } }: { readonly guarantee: Guarantee }) {
  return (
    <li>
      <span class={`key ${status === 'broken' ? 'wrong' : status === 'undecided' ? 'untried' : 'expected'}`}>
        {status}
      </span>{' '}
      {name}
      {reason !== undefined && (
        <>
          : <Prose text={reason} />
        </>
      )}
    </li>
  )
}

const HOUR_MS = 3_600_000
const MINUTES = 60

function Refusals() {
  const since = useMemo(() => new Date(Date.now() - HOUR_MS), [])
  const body = { since: since.toISOString(), outcome: 'refused', limit: 1000 }
  const answer = useAnswer<Told<{ readonly records: readonly DecisionRecord[] }>>({
    path: '/policy/v1/decisions',
    body,
  })
  return (
    <section>
      <h2>Refused in the last hour</h2>
      <Answered answer={answer} action="read-decisions">
        {({ command, result: { records } }) => (
          <>
            <p>
              {counted(records.length, 'request')}
              {records.length === 1000 && ' or more'}; see the{' '}
              <Link to="/decisions" query={{ outcome: 'refused' }}>
                records
              </Link>
              .
            </p>
            <LazyCurve label="Refused requests by minute" {...byMinute(records, since)} />
            <Command text={command} />
          </>
        )}
      </Answered>
    </section>
  )
}

function byMinute(records: readonly DecisionRecord[], since: Date) {
  const start = Math.floor(since.getTime() / 1000)
  const counts = new Array<number>(MINUTES).fill(0)
  for (const { time } of records) {
    // The last one goes on while the page is made.
    const minute = Math.min(Math.floor((Date.parse(time) / 1000 - start) / 60), MINUTES - 1)
    if (minute >= 0) counts[minute] = (counts[minute] ?? 0) + 1
  }
  return { seconds: counts.map((_, i) => start + 60 * i), values: counts }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
