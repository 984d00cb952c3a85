/** Asks before another draft takes the place of the one that was typed. */
import { Dialog } from '../shell/dialog.tsx'

interface DroppingProps {
  readonly drop: () => void
  readonly keep: () => void
}

export function Dropping({ drop, keep }: DroppingProps) {
  return (
    <Dialog label="Drop your draft" close={keep}>
      <p>Your draft has changes. Another one would take their place.</p>
      <button type="button" class="first" onClick={keep}>
        Keep my draft
      </button>{' '}
      <button type="button" onClick={drop}>
        Drop it
      </button>
    </Dialog>
  )
}
