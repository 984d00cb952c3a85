/** A button that opens a draft: the files in force, with lines that the server has changed. */
import { useState } from 'preact/hooks'
import { ask } from '../api/ask.ts'
import type { LineEdit, PolicyFiles } from '../api/types.ts'
import { go } from '../shell/address.ts'
import { useActing } from '../signing/act.ts'
import { Ended } from '../signing/ended.tsx'
import { isTyped, takeEdits } from './draft-store.ts'
import { Dropping } from './dropping.tsx'

interface DraftOfProps {
  readonly edits: readonly LineEdit[]
  /** The policy whose lines they are. */
  readonly revision: string
  readonly label: string
}

export function DraftOf({ edits, revision, label }: DraftOfProps) {
  const [acting, run] = useActing('read')
  const [isAsked, setAsked] = useState(false)
  const take = () => {
    setAsked(false)
    run(async () => {
      const inForce = await ask<PolicyFiles>('/policy/v1/files')
      if (inForce.revision !== revision) throw new Error('The policy in force has changed since: ask again.')
      takeEdits(inForce, edits)
      go('/draft', { file: edits[0]?.file ?? '' })
      return ''
    })
  }
  return (
    <>
      <button type="button" disabled={acting.kind === 'busy'} onClick={() => (isTyped() ? setAsked(true) : take())}>
        {label}
      </button>
      <Ended acting={acting} />
      {isAsked && <Dropping drop={take} keep={() => setAsked(false)} />}
    </>
  )
}
