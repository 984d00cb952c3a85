/** Gives a caller whom an OpenID provider vouches for the roles that roles.yaml has for what the provider says, as it is now. */

import type { Snapshot } from '../../decide/snapshot.ts'
import type { Authentication } from '../../identity/caller.ts'

export function assignRoles(snapshot: Snapshot, authentication: Authentication): Authentication {
  if (authentication.kind !== 'caller' || authentication.caller.provided === undefined) return authentication
  return { kind: 'caller', caller: snapshot.withRoles(authentication.caller) }
}
