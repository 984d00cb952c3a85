/**
 * The headers that a gateway copies into its client's request. Every answer has all of them, empty ones too, so that a
 * gateway always replaces what its client sent.
 */
import type { Caller } from '../../../decide/caller.ts'
import type { Snapshot } from '../../../decide/snapshot.ts'
import type { Outcome } from '../../routes/handler.ts'
import type { Accepted, Received } from '../../stages/state.ts'

type Headers = Readonly<Record<string, string>>

/** Of a refusal, and of a caller without credentials. */
export const NOBODY: Headers = { 'X-Sallyport-Subject': '', 'X-Sallyport-Roles': '' }

/** The gateway may let its client's request pass. */
export function admit({ policy, accepted }: Received & Accepted): Outcome {
  return { status: 204, headers: identityHeaders(policy.snapshot, accepted.caller), body: undefined }
}

/** The roles are those that the policy declares, inherited ones included. */
function identityHeaders(snapshot: Snapshot, caller: Caller | undefined): Headers {
  if (!caller) return NOBODY
  const roles = [...snapshot.subjectOf(caller).roles].sort()
  return {
    'X-Sallyport-Subject': encoded(caller.id),
    'X-Sallyport-Roles': roles.map((role) => encoded(role).replaceAll(',', '%2C')).join(','),
  }
}

/** Visible ASCII stays, but for `%`; all else is percent-encoded as UTF-8, so that `decodeURIComponent` reads it. */
function encoded(text: string): string {
  return text.replace(/[^!-$&-~]/gu, encodeURIComponent)
}
