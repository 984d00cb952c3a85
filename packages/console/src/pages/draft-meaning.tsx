/** What a draft means: its findings, its guarantees, and the changes in sentences. */
import { useEffect, useState } from 'preact/hooks'
import type { Checked, Diff, Drafted, Finding } from '../api/types.ts'
import type { Answer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { ChangeList, FindingText } from '../parts/lines.tsx'
import { Prose } from '../parts/prose.tsx'
import type { ChangedFiles } from './draft-store.ts'
import { DraftTrials } from './draft-trials.tsx'

interface DraftMeaningProps {
  readonly answer: Answer<Drafted>
  readonly files: ChangedFiles
  readonly show: (finding: Finding) => void
}

/** While a newer text is judged, the last judgement stays. */
export function DraftMeaning({ answer, files, show }: DraftMeaningProps) {
  const [last, setLast] = useState(answer)
  useEffect(() => {
    if (answer.kind !== 'waiting') setLast(answer)
  }, [answer])
  const isWaiting = answer.kind === 'waiting'
  return (
    <aside class="meaning" aria-label="What it means" aria-busy={isWaiting}>
      {answer.kind === 'none' && <p class="quiet">Change a file: what it means is told here.</p>}
      <Answered answer={last.kind === 'none' ? answer : last} action="draft">
        {({ check, diff }) => (
          <>
            <h2>Changes</h2>
            {diff ? <Changes {...diff.result} /> : <p>Correct the errors first.</p>}
            <h2>Findings</h2>
            {check.result.findings.length === 0 && <p>Nothing is found.</p>}
            {check.result.findings.map((finding) => (
              <button
                key={`${finding.file}:${finding.line}:${finding.column}:${finding.code}`}
                type="button"
                class="finding"
                onClick={() => show(finding)}
              >
                <FindingText finding={finding} />
              </button>
            ))}
            <Guarantees guarantees={check.result.guarantees} />
            <Command text={(diff ?? check).command} />
          </>
        )}
      </Answered>
      {answer.kind !== 'none' && <DraftTrials files={files} />}
    </aside>
  )
}

/** How many hold, and each that doesn't. */
function Guarantees({ guarantees }: Pick<Checked, 'guarantees'>) {
  if (guarantees.length === 0) return null
  const open = guarantees.filter(({ status }) => status !== 'proven')
  return (
    <>
      <h2>Guarantees</h2>
      <p>
        {guarantees.length - open.length} of {guarantees.length} are proven.
      </p>
      {open.map(({ name, status, reason }) => (
        <p key={name}>
          <span class={`key ${status === 'broken' ? 'wrong' : 'untried'}`}>{status}</span> {name}
          {reason !== undefined && <Prose text={`: ${reason}`} />}
        </p>
      ))}
    </>
  )
}

function Changes({ changes, refused }: Diff) {
  return (
    <>
      {changes.length === 0 && refused.length === 0 && <p role="status">No request is answered in another way.</p>}
      {refused.map((sentence) => (
        <p key={sentence}>
          <Prose text={sentence} />
        </p>
      ))}
      <ChangeList changes={changes} />
    </>
  )
}
