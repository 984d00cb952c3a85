/** What a policy answers to one request: the stages of the server answer it, on objects in memory. */
import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '../../../decide/caller.ts'
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { WatchDecision } from '../../../decide/decision.ts'
import { type DirectPolicy, directPolicy } from '../../../decide/grants/direct.ts'
import { proposeUpdate } from '../../../decide/permits/propose.ts'
import type { Policy } from '../../../decide/policy.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import { livingAt } from '../../../decide/rules/rule-table.ts'
import type { SignIn } from '../../../identity/sign-in/sign-in.ts'
import type { ActivePolicy } from '../../../policy/live/active-policy.ts'
import type { Revision } from '../../../policy/policy-files.ts'
import type { Json, Representation, Resource, Resources, Route } from '../../../resources/resource.ts'
import { withParameter } from '../../../resources/routing/path-parameter.ts'
import type { SeenEvent } from '../../../server/events/seen-changes.ts'
import { toldOf } from '../../../server/events/stream-group.ts'
import { type AskInProcess, type InProcessRequest, openInProcess } from '../../../server/in-process.ts'
import type { Happening, ToldWord } from '../read/expectation.ts'
import { MemoryStore, type Objects } from './memory-store.ts'

/** A policy for predictions: its files without expired rules, and what these rules grant. */
export interface EvaluatedPolicy {
  readonly policy: Policy
  readonly grants: DirectPolicy
}

/** `now` is milliseconds since the epoch: a rule may have an end. */
export function evaluatePolicy(policy: Policy, resources: Resources, now: number): EvaluatedPolicy {
  const living = livingAt(policy, now)
  return { policy: living, grants: directPolicy(living, resources) }
}

/** A request, and all that its answer depends on. */
export interface PredictedRequest {
  readonly evaluated: EvaluatedPolicy
  readonly routeMethod: RouteMethod
  /** Undefined without credentials. */
  readonly caller: Caller | undefined
  /** The path's `{id}`; undefined where the path has none. */
  readonly id: string | undefined
  /** Undefined where the request has none. */
  readonly body: Readonly<Record<string, Json>> | undefined
  readonly objects: Objects
  /** What happens to the object with the id while the caller follows events; the body says what it is or what changes. */
  readonly event?: Happening | undefined
  /** What else conditions look at; the caller has what they look at in a credential. */
  readonly facts: Pick<ConditionFacts, 'now' | 'address' | 'credential'>
  /** Whether the request names the object's current tag in `If-Match`. */
  readonly conditional?: boolean
  /** Whether the caller is a gateway and proves it; the requests of a matrix never do. */
  readonly provesGateway?: boolean
}

/** The answer; for an object, only the fields that are shown. */
export interface Answer {
  readonly status: number
  /** The object of the body. */
  readonly shown?: Representation | undefined
  /** The object whose fields `shown` has. */
  readonly of?: Representation | undefined
  /** The rows of all pages of a list. */
  readonly items?: readonly { readonly object: Representation; readonly shown: Representation }[]
  /** The event that the caller is told. */
  readonly told?: ToldEvent
  /** What the request leaves. */
  readonly objects: Objects
}

/** `shown`: the object, as far as the caller is told it; `of`: the whole object. */
export interface ToldEvent {
  readonly word: ToldWord
  readonly shown?: Representation
  readonly of?: Representation | undefined
}

/** The route is known to have the method. */
export type Predict = (request: PredictedRequest) => Promise<Answer>

/** One server for all policies: each request is answered under its own. They are answered one after the other. */
export function createPredict(resources: Resources): Predict {
  const store = new MemoryStore(resources)
  let asked: PredictedRequest | undefined
  let fault: unknown
  let followed: WatchDecision | undefined
  const inForce = () => {
    if (!asked) throw new Error('no request is asked')
    return activeOf(asked.evaluated)
  }
  const verify = () =>
    asked?.caller ? ({ kind: 'caller', caller: asked.caller } as const) : ({ kind: 'anonymous' } as const)
  let opened: Promise<AskInProcess> | undefined
  const open = () =>
    openInProcess({
      instance: 'prediction',
      resources,
      store,
      directory: { accountStatus: () => ({ kind: 'unknown' }) as never },
      now: () => new Date(asked?.facts.now ?? 0),
      policy: {
        get active() {
          return inForce()
        },
        at: inForce,
      },
      channel: undefined,
      verifier: { verify },
      subjects: { verify: () => ({ kind: 'rejected', code: 'token-invalid', reason: 'there are no tokens' }) },
      clientAddress: () => ({ counted: 'prediction', whole: asked?.facts.address }),
      recorder: () => ({ note: () => {}, committed: () => {} }),
      faults: {
        note: ({ err }) => {
          fault ??= err
        },
        close: () => {},
      },
      signIn: NOBODY,
      events: {
        enter: () => () => {},
        follow: async (response, { decision }) => {
          followed = decision
          response.end()
        },
      },
      // Nothing is expected of the document, and writing it takes long.
      describe: async () => '{}',
    })
  const answer: Predict = async (request) => {
    opened ??= open()
    const ask = await opened
    asked = request
    store.objects = request.objects
    fault = undefined
    followed = undefined
    const answered = await answerTo(request, ask, store)
    const given = followed ? await withEvent(request, followed, answered, store) : answered
    if (fault !== undefined) throw fault
    return given
  }
  let last: Promise<unknown> = Promise.resolve()
  return (request) => {
    const next = last.then(() => answer(request))
    last = next.catch(() => {})
    return next
  }
}

/** In memory there are no passwords and no sessions. */
const NOBODY: SignIn = {
  withPassword: async () => ({ kind: 'refused', userId: undefined, reason: 'nobody is known' }),
  withRefreshToken: async () => ({ kind: 'refused', userId: undefined, reason: 'nobody is known' }),
  end: async () => false,
}

const active = new WeakMap<EvaluatedPolicy, ActivePolicy>()

function activeOf(evaluated: EvaluatedPolicy): ActivePolicy {
  return active.getOrInsertComputed(evaluated, ({ grants }) => ({
    revision: 'predicted' as Revision,
    snapshot: grants,
    blocked: new Map(),
  }))
}

/** The event that the server sends to a caller who may follow. Relations are looked up as they are after the change. */
async function withEvent(
  request: PredictedRequest,
  decision: WatchDecision,
  answer: Answer,
  store: MemoryStore,
): Promise<Answer> {
  const { event, id = '', caller, body = {}, facts } = request
  if (!event) return answer
  const { resource } = request.routeMethod
  const at = new Date(facts.now + 1).toISOString()
  const now = new Map(store.objects.get(resource.name))
  const before = store.get(resource.name, id)
  const old = now.get(id)
  if (event === 'deleted') now.delete(id)
  else now.set(id, { ...(event === 'changed' && old ? proposeUpdate(resource, body, old).after : body), updatedAt: at })
  store.objects = new Map(store.objects).set(resource.name, now)
  const change = {
    number: 1,
    resource: resource.name,
    id,
    before,
    after: store.get(resource.name, id),
    isDelete: event === 'deleted',
    at,
    by: undefined,
  }
  const seen = await toldOf(decision, caller?.id, change, (lookup) => store.lookup(lookup))
  return { ...answer, told: eventIn(seen, now.get(id)), objects: store.objects }
}

function eventIn(seen: SeenEvent | 'reset' | undefined, of: Representation | undefined): ToldEvent {
  return typeof seen === 'object' ? { word: seen.kind, shown: seen.object, of } : { word: seen ?? 'nothing' }
}

async function answerTo(request: PredictedRequest, ask: AskInProcess, store: MemoryStore): Promise<Answer> {
  const { routeMethod, id, caller, body, evaluated } = request
  const { route, endpoint, resource, method } = routeMethod
  const headers = {
    ...(request.conditional && route.precondition === 'required' && { 'if-match': '*' }),
    ...(request.provesGateway && { 'x-sallyport-key': 'sp_prediction' }),
  }
  const path = requestPath(route, encodeURIComponent(id ?? ''))
  const sent: InProcessRequest = { method, path, headers, body, token: caller && 'prediction' }
  if (endpoint.operation === 'list') {
    const first = `${path}?limit=${evaluated.policy.limits.page.max}`
    const { status, rows } = await readPages(ask, { ...sent, path: first })
    if (rows === undefined) return { status, objects: store.objects }
    const all = [...(store.objects.get(resource.name)?.values() ?? [])]
    const items = rows.map((shown) => ({ shown, object: shownBy(shown, all, resource)[0] ?? shown }))
    return { status, items, objects: store.objects }
  }
  const { status, text, headers: given } = await ask(sent)
  const { objects } = store
  if (status >= 300 || text === '') return { status, objects }
  const shown = JSON.parse(text) as Representation
  const written = given.Location?.split('/').at(-1)
  const its = id ?? (route.kind === 'caller' ? caller?.id : written && decodeURIComponent(written))
  return { status, shown, of: objects.get(resource.name)?.get(its ?? String(shown.id)), objects }
}

const NO_PARENT = '01980000-0000-7000-8000-00000000000d'

/** `id`: percent-encoded. The path of a parent names one that there isn't: a cell tells the answer to its caller alone. */
export function requestPath({ path, parent }: Route, id: string): string {
  return withParameter(path, parent ? NO_PARENT : id)
}

async function readPages(ask: AskInProcess, request: InProcessRequest) {
  const rows: Representation[] = []
  for (let next = request; ; ) {
    const { status, text } = await ask(next)
    if (status !== 200) return { status, rows: undefined }
    const page = JSON.parse(text) as { readonly items: readonly Representation[]; readonly next: string | null }
    rows.push(...page.items)
    if (page.next === null) return { status, rows }
    next = { ...request, path: `${request.path}&cursor=${encodeURIComponent(page.next)}` }
  }
}

/**
 * The objects that this row can show. Compares the id, or in a row without an id all fields that clients
 * can give.
 */
export function shownBy(
  row: Representation,
  objects: readonly Representation[],
  { fields }: Resource,
): readonly Representation[] {
  if (Object.hasOwn(row, 'id')) return objects.filter(({ id }) => id === row.id)
  const given = Object.entries(row).filter(([field]) => !fields.get(field)?.readOnly)
  return objects.filter((object) => given.every(([field, value]) => isDeepStrictEqual(value, object[field])))
}
