/** A finding and a change, as each page tells them. */
import type { Change, Finding } from '../api/types.ts'
import { Prose } from './prose.tsx'

export function FindingText({ finding: { file, line, severity, message, hint } }: { readonly finding: Finding }) {
  return (
    <>
      <span class={`key ${severity === 'error' ? 'wrong' : 'unstated'}`}>{severity}</span>{' '}
      <span class="mono">
        {file}:{line}
      </span>{' '}
      <Prose text={hint === undefined ? message : `${message}: ${hint}`} />
    </>
  )
}

export function ChangeList({ changes }: { readonly changes: readonly Change[] }) {
  return (
    <div role="status">
      <ul class="plain">
        {changes.map(({ sentence, direction }) => (
          <li key={sentence}>
            <span class={`key ${direction}`}>{direction}</span> <Prose text={sentence} />
          </li>
        ))}
      </ul>
    </div>
  )
}
