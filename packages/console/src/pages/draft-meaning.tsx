/** What a draft means: its findings, its guarantees, and the changes in sentences. */
import { useEffect, useState } from 'preact/hooks'
import type { Change, Drafted, Finding } from '../api/types.ts'
import type { Answer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { Prose } from '../parts/prose.tsx'

interface DraftMeaningProps {
  readonly answer: Answer<Drafted>
  readonly show: (finding: Finding) => void
}

/** While a newer text is judged, the last judgement stays. */
export function DraftMeaning({ answer, show }: DraftMeaningProps) {
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
            {diff ? (
              <Changes changes={diff.result.changes} refused={diff.result.refused} />
            ) : (
              <p>Correct the errors first.</p>
            )}
            <h2>Findings</h2>
            {check.result.findings.length === 0 && <p>Nothing is found.</p>}
            {check.result.findings.map((finding) => (
              <button
                key={`${finding.file}:${finding.line}:${finding.column}:${finding.code}`}
                type="button"
                class="finding"
                onClick={() => show(finding)}
              >
                <span class={`key ${finding.severity === 'error' ? 'wrong' : 'unstated'}`}>{finding.severity}</span>{' '}
                <span class="mono">
                  {finding.file}:{finding.line}
                </span>{' '}
                <Prose text={finding.hint === undefined ? finding.message : `${finding.message}: ${finding.hint}`} />
              </button>
            ))}
            {check.result.guarantees
              .filter(({ status }) => status === 'broken')
              .map(({ name }) => (
                <p key={name}>
                  <span class="key wrong">broken</span> {name}
                </p>
              ))}
            <Command text={(diff ?? check).command} />
          </>
        )}
      </Answered>
    </aside>
  )
}

function Changes({ changes, refused }: { readonly changes: readonly Change[]; readonly refused: readonly string[] }) {
  return (
    <ul class="plain" role="status">
      {changes.length === 0 && refused.length === 0 && <li>No request is answered in another way.</li>}
      {refused.map((sentence) => (
        <li key={sentence}>
          <Prose text={sentence} />
        </li>
      ))}
      {changes.map(({ sentence, direction }) => (
        <li key={sentence}>
          <span class={`key ${direction}`}>{direction}</span> <Prose text={sentence} />
        </li>
      ))}
    </ul>
  )
}
