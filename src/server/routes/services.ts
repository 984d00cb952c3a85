/** What handlers work with, and what they are told of the request. */

import type { Caller } from '../../decide/caller.ts'
import type { OwnerField } from '../../decide/propose.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import type { SignIn } from '../../identity/sign-in/sign-in.ts'
import type { Endpoint, Json, Method, Resource, Route } from '../../resources/resource.ts'
import type { Store } from '../../store/contract.ts'
import type { Preconditions } from '../input/input.ts'
import type { Cursors } from './cursor.ts'
import type { EntityTags } from './entity-tag.ts'
import type { InFlight } from './in-flight.ts'
import type { Writes } from './writes.ts'

/** Whether a part of the server can do its work: `degraded` answers, but not as well as it should. */
export interface Check {
  readonly status: 'ok' | 'degraded' | 'unavailable'
  readonly detail?: string
}

export interface Services {
  readonly store: Pick<Store, 'list' | 'get' | 'count' | 'kept'>
  /** Claims on idempotency keys that are at work. */
  readonly inFlight: InFlight
  readonly now: () => Date
  /** Undefined where tokens come from elsewhere. */
  readonly signIn: SignIn | undefined
  /** The public keys that tokens made here are signed with (RFC 7517 section 5). */
  readonly keySet: () => Json
  readonly cursors: Cursors
  readonly tags: EntityTags
  /** The OpenAPI document of what a caller has under a policy, as JSON text. */
  readonly describe: (snapshot: Snapshot, caller: Caller | undefined) => Promise<string>
  /** Each part of the server by name, asked afresh. */
  readonly checks: () => Promise<Readonly<Record<string, Check>>>
}

export interface Asking {
  readonly method: Method
  readonly route: Route
  readonly endpoint: Endpoint
  readonly resource: Resource
  readonly writes: Writes
  /** Undefined without credentials. */
  readonly caller: Caller | undefined
  /** Of the client, as limits count it. */
  readonly address: string
  /** The field that names an object's owner, where ownership.yaml relates one by the caller's id. */
  readonly owner: OwnerField | undefined
  /** The path's `{id}`, as sent. */
  readonly path: string
  readonly query: string
  readonly preconditions: Preconditions
  /** Of a POST, where the client sends one. */
  readonly idempotencyKey?: string
  /** What decided. */
  readonly snapshot: Snapshot
}
