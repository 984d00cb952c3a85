/** The product's answer to a situation, in process: `decideRequest` and the handlers, on a store in memory. */

import { Problem } from '../../../src/base/problems/problem.ts'
import type { Caller } from '../../../src/decide/caller.ts'
import type { RouteMethod } from '../../../src/decide/callers-and-routes.ts'
import { lookUpIn, meets } from '../../../src/decide/conditions/condition.ts'
import { withFacts } from '../../../src/decide/facts.ts'
import { Refused } from '../../../src/decide/refusal.ts'
import type { Snapshot } from '../../../src/decide/snapshot.ts'
import type { ActivePolicy } from '../../../src/policy/live/active-policy.ts'
import { represent } from '../../../src/resources/object.ts'
import type { Json, Resource, Resources } from '../../../src/resources/resource.ts'
import { problemOf } from '../../../src/server/answers/to-problem.ts'
import { UnreadAnswers } from '../../../src/server/http/unread-answers.ts'
import { InFlight } from '../../../src/server/idempotency/idempotency-key.ts'
import type { Input } from '../../../src/server/input/input.ts'
import { Cursors } from '../../../src/server/routes/cursor.ts'
import { EntityTags, WrittenJson } from '../../../src/server/routes/entity-tag.ts'
import type { HandledRequest, Outcome } from '../../../src/server/routes/handler.ts'
import { handlerOf } from '../../../src/server/routes/router.ts'
import { SliceQueue } from '../../../src/server/slices.ts'
import { decideRequest } from '../../../src/server/stages/authorize.ts'
import type { Store } from '../../../src/store/contract.ts'
import type { Objects } from '../../../src/tools/matrix/predict/memory-store.ts'
import type { Answer } from '../../../src/tools/matrix/predict/predict.ts'
import { listedOf } from '../../listed.ts'
import { storedOf } from '../../policy/product.ts'

export interface Served {
  readonly snapshot: Snapshot
  readonly resources: Resources
  readonly routeMethod: RouteMethod
  readonly caller: Caller | undefined
  readonly id: string
  readonly body: Readonly<Record<string, Json>>
  readonly objects: Objects
}

const WHOLE = {
  parameters: new Map(),
  limit: 200,
  filter: [],
  order: [],
  fields: undefined,
  counted: false,
  can: false,
}
const KEY = new Uint8Array(32)

/** The status, and the fields and rows that are shown. */
export async function serve(served: Served): Promise<Pick<Answer, 'status'> & { readonly seen: unknown }> {
  const { caller } = served
  try {
    const outcome = await outcomeOf(served, caller)
    return {
      status: outcome.status,
      seen: outcome.body instanceof WrittenJson ? JSON.parse(outcome.body.text) : outcome.body,
    }
  } catch (error) {
    if (!(error instanceof Problem || error instanceof Refused)) throw error
    return { status: problemOf(error, caller).status, seen: undefined }
  }
}

async function outcomeOf(served: Served, caller: Caller | undefined): Promise<Outcome> {
  const { snapshot, resources, routeMethod, id, objects } = served
  const store = storeOf(objects)
  const policy = { revision: '', snapshot, blocked: new Map() } as unknown as ActivePolicy
  const target = { path: routeMethod.route.path.replace('{id}', id), query: '' }
  const match = { kind: 'route', route: routeMethod.route, endpoint: routeMethod.endpoint, id, target } as const
  const decision = await decideRequest({ resources, store }, policy, { match, caller, at: 0 })
  const now = () => new Date(0)
  const inFlight = new InFlight()
  const services = {
    store,
    inFlight,
    unread: new UnreadAnswers(),
    now,
    signIn: undefined,
    keySet: () => ({ keys: [] }),
    cursors: new Cursors(KEY),
    tags: new EntityTags(KEY),
    checks: async () => ({}),
    describe,
    batches: { ask: describe, underWay: { run: describe } },
    access: {
      resources,
      store,
      directory: { accountStatus: describe },
      verifier: { verify: describe },
      publicUrl: () => '',
      slices: new SliceQueue(),
    },
  }
  return handlerOf(routeMethod.route, routeMethod.endpoint.operation)(
    services,
    requestOf(served, caller, store),
    decision,
    inputOf(served),
  )
}

/** No route of these tests shows the OpenAPI document. */
function describe(): never {
  throw new Error('nothing asks for it')
}

function requestOf(
  { snapshot, resources, routeMethod }: Served,
  caller: Caller | undefined,
  store: Pick<Store, 'get' | 'lookup'>,
): HandledRequest {
  const { resource, route, method } = routeMethod
  return {
    method,
    route,
    resource,
    caller,
    address: '127.0.0.1',
    gone: () => new AbortController().signal,
    received: () => {
      throw new Error('nothing sends a batch')
    },
    events: () => {
      throw new Error('nothing follows events')
    },
    ask: (steps) =>
      withFacts(steps, {
        user: (id) => store.get('users', id),
        object: store.get,
        lookup: (lookup) => store.lookup(lookup),
      }),
    abilities: () => {
      throw new Error('nothing asks for them')
    },
    asked: () => {
      throw new Error('nothing refers to others')
    },
    resources,
    snapshot,
    policy: { revision: '', snapshot, blocked: new Map() } as unknown as ActivePolicy,
    at: 0,
    path: route.path,
    query: '',
    preconditions: {},
    writes: () => ({
      create: async (_, outcome) => outcome,
      update: async (_, outcome) => outcome,
      delete: async (_, outcome) => outcome,
      record: () => '',
      committed: () => undefined,
    }),
  }
}

function inputOf({ routeMethod, body }: Served): Input {
  switch (routeMethod.endpoint.operation) {
    case 'list':
      return { kind: 'list', query: WHOLE, preconditions: {} }
    case 'create':
    case 'replace':
    case 'update':
      return { kind: 'body', body, preconditions: {} }
    case 'read':
      return { kind: 'item', can: false, preconditions: {} }
    default:
      return { kind: 'nothing', preconditions: {} }
  }
}

function storeOf(
  objects: Objects,
): Pick<Store, 'get' | 'list' | 'count' | 'aggregate' | 'kept' | 'lookup' | 'inOneReadTransaction'> {
  const of = (resource: Resource['name']) => [...(objects.get(resource)?.values() ?? [])].map(storedOf)
  const related = lookUpIn((resource) => of(resource).map(represent))
  return {
    get: async (resource, id) => of(resource).find((object) => object.id === id),
    list: async (resource, { where }) =>
      of(resource)
        .filter((object) => meets(where, represent(object), related))
        .sort((one, other) => (one.id < other.id ? -1 : 1))
        .map(listedOf),
    lookup: async (lookup) => related(lookup),
    inOneReadTransaction: (work) => work(),
    count: async () => ({ found: 0, isExact: true }),
    aggregate: async () => [],
    kept: async () => undefined,
  }
}
