/** How an act ended. */
import { Prose } from '../parts/prose.tsx'
import type { Acting } from './act.ts'

export function Ended({ acting }: { readonly acting: Acting }) {
  const sentence = acting.kind === 'done' || acting.kind === 'failed' ? acting.sentence : ''
  return (
    <p role={acting.kind === 'failed' ? 'alert' : 'status'} class={acting.kind === 'failed' ? 'bad' : ''}>
      {acting.kind === 'busy' ? 'The server is asked…' : <Prose text={sentence} />}
    </p>
  )
}
