/**
 * The stages of the server within a command, which asks them without a socket. No limit counts its requests, and nothing
 * is told but their records.
 */
import Koa from 'koa'
import { LogShares } from '../decision-log/log-shares.ts'
import type { Recorder } from '../decision-log/recorder.ts'
import type { TokenVerifier } from '../identity/caller.ts'
import type { SignIn } from '../identity/sign-in/sign-in.ts'
import type { Json, Resources } from '../resources/resource.ts'
import type { Store } from '../store/contract.ts'
import type { AccessParts } from './authzen/pep.ts'
import type { ClientAddress } from './http/client-address.ts'
import { type InMemoryAnswer, inMemory } from './http/in-memory.ts'
import { UnreadAnswers } from './http/unread-answers.ts'
import { InFlight } from './idempotency/idempotency-key.ts'
import type { FaultLog } from './observe/fault-log.ts'
import { createDescribe } from './openapi/document.ts'
import { UNANSWERED } from './questions/policy-questions.ts'
import { Cursors } from './routes/cursor.ts'
import { EntityTags } from './routes/entity-tag.ts'
import type { Services } from './routes/handler.ts'
import { SliceQueue } from './slices.ts'
import { type StackParts, useStages } from './stack.ts'

interface InProcessParts extends Pick<StackParts, 'instance' | 'policy' | 'channel'> {
  readonly resources: Resources
  readonly store: Store
  readonly directory: AccessParts['directory']
  readonly now: () => Date
  readonly verifier: TokenVerifier
  /** For the access routes, where services pass along tokens of their subjects. */
  readonly subjects: TokenVerifier
  readonly clientAddress: ClientAddress
  readonly recorder: (shares: LogShares) => Recorder
  readonly faults: FaultLog
  readonly signIn?: SignIn
  /** Where events are told; nobody waits for them if it is absent. */
  readonly events?: StackParts['events']
  readonly chosenId?: NonNullable<Services['chosenId']>
  /** The OpenAPI document; the usual one when not given. */
  readonly describe?: Services['describe']
}

export interface InProcessRequest {
  readonly method: string
  /** With the query, if there is one. */
  readonly path: string
  readonly token?: string | undefined
  /** In lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Json | undefined
}

export type AskInProcess = (request: InProcessRequest) => Promise<InMemoryAnswer>

export async function openInProcess(parts: InProcessParts): Promise<AskInProcess> {
  const { instance, resources, store, directory, now, verifier, faults, signIn, chosenId } = parts
  // A command fills as much as its work takes.
  const logShares = new LogShares({ share: Number.POSITIVE_INFINITY })
  const unread = new UnreadAnswers()
  const koa = new Koa()
  useStages(koa, {
    instance,
    resources,
    store,
    services: {
      store,
      unread,
      inFlight: new InFlight(),
      now,
      signIn,
      ...(chosenId && { chosenId }),
      keySet: () => ({ keys: [] }),
      checks: async () => ({}),
      cursors: new Cursors(await store.secret('cursor')),
      tags: new EntityTags(await store.secret('tag')),
      questions: UNANSWERED,
      describe: parts.describe ?? createDescribe(resources, 'folder'),
      access: { resources, store, directory, verifier: parts.subjects, publicUrl: () => '', slices: new SliceQueue() },
    },
    policy: parts.policy,
    events: parts.events,
    channel: parts.channel,
    now,
    verifier,
    rateLimiter: { refuseKnownOver: () => {}, count: () => ({}) },
    logShares,
    clientAddress: parts.clientAddress,
    cors: undefined,
    recorder: parts.recorder(logShares),
    faults,
    metrics: { observeRequest: () => {} },
    unread,
    shutdown: { begun: false },
  })
  const ask = inMemory(koa)
  return ({ method, path, token, headers, body }) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const sent = {
      host: 'localhost',
      ...(text !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    }
    return ask({ method, path, headers: sent, text })
  }
}
