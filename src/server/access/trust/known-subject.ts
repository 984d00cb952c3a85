/** The subject of an evaluation, once it is found: how far the asking service's word made it. Types only. */
import type { Caller } from '../../../decide/caller.ts'
import type { DenialReason } from '../denial-reasons.ts'

export interface KnownSubject {
  readonly caller: Caller
  /** Its own token proves its sign-in. */
  readonly byToken?: true
  /** The service tells its roles and attributes, so that what isn't told is unknown. */
  readonly isTold?: true
}

export type FoundSubject = KnownSubject | { readonly reason: DenialReason }
