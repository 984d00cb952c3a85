/** The key of the person: made here, and shown as the line that approvals.yaml needs. */
import { useEffect } from 'preact/hooks'
import { Command } from '../parts/command.tsx'
import { useStore } from '../parts/store.ts'
import { useActing } from './act.ts'
import { Ended } from './ended.tsx'
import { findKey, forgetKey, makeKey, type OwnKey, ownKey } from './key.ts'

export function OwnKeySection() {
  const key = useStore(ownKey)
  const [acting, run] = useActing('approve')
  useEffect(() => {
    if (key === undefined) void findKey()
  }, [key])
  return (
    <section aria-label="Your key">
      <h2>Your key</h2>
      {key === null && (
        <p>
          You have no key in this browser. Make one to propose, approve and review here; its private half stays in the
          browser.{' '}
          <button type="button" onClick={() => run(() => makeKey().then(() => 'The key is made.'))}>
            Make a key
          </button>
        </p>
      )}
      {key && <Enrolment own={key} />}
      {key && (
        <button type="button" onClick={() => run(() => forgetKey().then(() => 'The key is forgotten.'))}>
          Forget this key
        </button>
      )}
      <Ended acting={acting} />
    </section>
  )
}

function Enrolment({ own: { x, kid } }: { readonly own: OwnKey }) {
  return (
    <>
      <p>
        Its signatures count once `approvals.yaml` has it: this is a key for the list `keys` of you, below `people`. Its
        thumbprint is <span class="mono">{kid}</span>.
      </p>
      <Command text={`'{"kty":"OKP","crv":"Ed25519","x":"${x}"}'`} />
    </>
  )
}
