/** Offers the draft that was typed before a reload, or before the session of this tab was lost with it. */
import type { PolicyFiles } from '../api/types.ts'
import { useStore } from '../parts/store.ts'
import { Dialog } from '../shell/dialog.tsx'
import { beforeReload, begin, goOn } from './draft-store.ts'

export function BeforeReload({ inForce }: { readonly inForce: PolicyFiles }) {
  const before = useStore(beforeReload)
  if (!before) return null
  return (
    <Dialog label="Your draft from before">
      <p>You typed a draft before this page was loaded again: {Object.keys(before.changed).join(', ')}.</p>
      <button type="button" class="first" onClick={() => goOn(inForce)}>
        Go on with it
      </button>{' '}
      <button type="button" onClick={() => begin(inForce)}>
        Drop it
      </button>
    </Dialog>
  )
}
