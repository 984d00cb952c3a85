/** The worked cases of the language, answered by the product: its parser, `decideRequest` and its handlers, in memory. */
import { expect } from 'chai'
import { stringify } from 'yaml'
import { FileError } from '../../src/base/diagnostic.ts'
import { Problem } from '../../src/base/problems/problem.ts'
import type { Caller } from '../../src/decide/caller.ts'
import { casbinPolicy } from '../../src/decide/casbin/casbin.ts'
import { lookUpIn, meets } from '../../src/decide/conditions/condition.ts'
import type { Decision } from '../../src/decide/decision.ts'
import { type FactSource, withFacts } from '../../src/decide/facts.ts'
import { Refused } from '../../src/decide/refusal.ts'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import type { ActivePolicy } from '../../src/policy/live/active-policy.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { type Document, represent, type StoredObject } from '../../src/resources/object.ts'
import type {
  Endpoint,
  Field,
  Method,
  Operation,
  Representation,
  Resource,
  Resources,
  Route,
} from '../../src/resources/resource.ts'
import { problemOf } from '../../src/server/answers/to-problem.ts'
import { UnreadAnswers } from '../../src/server/http/unread-answers.ts'
import { InFlight } from '../../src/server/idempotency/idempotency-key.ts'
import type { Input } from '../../src/server/input/input.ts'
import { Cursors } from '../../src/server/routes/cursor.ts'
import { EntityTags, WrittenJson } from '../../src/server/routes/entity-tag.ts'
import type { HandledRequest, Outcome, Services } from '../../src/server/routes/handler.ts'
import { handlerOf } from '../../src/server/routes/router.ts'
import { SliceQueue } from '../../src/server/slices.ts'
import { decideRequest } from '../../src/server/stages/authorize.ts'
import type { ListedObject, Store } from '../../src/store/contract.ts'
import { LANGUAGE_CASES, type LanguageCase } from './language-cases.ts'
import { filesOf } from './render.ts'
import type { Plain } from './world.ts'

const METHODS: Readonly<Record<Operation, Method>> = {
  list: 'GET',
  read: 'GET',
  create: 'POST',
  replace: 'PUT',
  update: 'PATCH',
  delete: 'DELETE',
  options: 'OPTIONS',
}

/** As decision records name them. */
const CREDENTIALS: Readonly<Record<string, string>> = { 'api-key': 'key k1', provider: 'issuer https://id.example' }

const KEY = new Uint8Array(32)
const TIME = '2026-01-01T00:00:00.000Z'

describe('the product', () => {
  for (const one of LANGUAGE_CASES) {
    it(`answers as expected: ${one.about}: ${one.name}`, async () => {
      const { error, ...expected } = one.expect
      if (error !== undefined) {
        expect(codesOf(one)).to.include(error)
        return
      }
      const answered: Readonly<Record<string, unknown>> = { ...(await answer(one)) }
      expect(answered.stepUp, 'stepUp').to.deep.equal(expected.stepUp)
      for (const [name, value] of Object.entries(expected)) expect(answered[name], name).to.deep.equal(value)
    })
  }
})

function codesOf(one: LanguageCase): readonly string[] {
  try {
    policyOf(one)
    return []
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return error.diagnostics.map(({ code }) => code)
  }
}

function policyOf(one: LanguageCase) {
  const resources = resourcesOf(one)
  const lines = one.policy.map((line) => line.split(',').map((cell) => cell.trim()))
  const subjects = lines.flatMap(([kind = '', subject = '', resource = '']) =>
    kind === 'g' ? [subject, resource] : [subject],
  )
  const roles = [...subjects, ...(one.caller?.roles ?? [])].filter(
    (name) => !name.includes(':') && name !== 'everyone' && name !== 'anonymous',
  )
  const files = filesOf({
    'policy.csv': one.policy.join('\n'),
    'roles.yaml': stringify(Object.fromEntries(roles.map((role) => [role, { description: role }]))),
    'ownership.yaml': stringify(one.ownership ?? {}),
    'views.yaml': stringify(one.views ?? {}),
    ...(one.conditions ? { 'conditions.yaml': stringify(one.conditions) } : {}),
  })
  return { resources, policy: parsePolicy(files, resources) }
}

function resourcesOf(one: LanguageCase): Resources {
  const { request } = one
  const made = Object.keys(one.schemas).map((name) => resourceOf(one, name))
  const all = made.some(({ name }) => name === request.resource) ? made : [...made, resourceOf(one, request.resource)]
  return {
    byName: new Map(all.map((resource) => [resource.name, resource])),
    routes: all.flatMap(({ routes }) => routes),
  }
}

function resourceOf(one: LanguageCase, name: string): Resource {
  const { request, schemas } = one
  const { fields = [], readOnly = [], indexed = [], defaults = {}, lists = [] } = schemas[name] ?? {}
  const builtIn = name.startsWith('system/')
  const made = fields.map(
    (field): Field => ({
      name: field,
      type: isRanged(one, name, field) ? 'number' : 'string',
      list: lists.includes(field),
      readOnly: readOnly.includes(field),
      indexed: indexed.includes(field),
      unique: false,
      default: defaults[field],
    }),
  )
  const operation = (request.operation ?? request.action) as Operation
  const known = builtIn
    ? [request.action, 'options']
    : ['list', 'read', 'create', 'replace', 'update', 'delete', 'options']
  const actions = name === request.resource ? [...new Set([...known, request.action])] : known
  const hasFields = (action: string) => !builtIn && action !== 'delete' && action !== 'options'
  const route = routeOf(name, operation, request.action, request.view)
  return {
    name,
    builtIn,
    schema: {},
    fields: new Map(made.map((field) => [field.name, field])),
    routes: name === request.resource ? [route] : [],
    actions: new Map(actions.map((action) => [action, { name: action, hasFields: hasFields(action) }])),
    validate: () => [],
  }
}

function routeOf(resource: string, operation: Operation, action: string, view: string | undefined): Route {
  const isCollection = operation === 'list' || operation === 'create'
  const endpoint: Endpoint = { operation, action }
  return {
    path: isCollection ? `/${resource}` : `/${resource}/{id}`,
    resource,
    kind: isCollection ? 'collection' : 'item',
    endpoints: new Map([[METHODS[operation], endpoint]]),
    allow: '',
    ...(view === undefined ? {} : { view }),
  }
}

function isRanged({ ownership = {} }: LanguageCase, resource: string, field: string): boolean {
  return Object.values(ownership[resource]?.relations ?? {}).some(
    (form) =>
      typeof form === 'object' && 'field' in form && form.field === field && ('atLeast' in form || 'atMost' in form),
  )
}

async function answer(one: LanguageCase): Promise<object> {
  const { request, caller: asking } = one
  const { resources, policy } = policyOf(one)
  const now = Date.parse(request.now)
  const { authTime, ...known } = asking ?? { id: '', roles: [], claims: {} }
  const caller: Caller | undefined = asking
    ? {
        ...known,
        credential: CREDENTIALS[asking.credential],
        ...(authTime === undefined ? {} : { authTime: Date.parse(authTime) }),
      }
    : undefined
  const objects = new Map(
    [...resources.byName.keys()].map((name) => [
      name,
      new Map((one.objects[name] ?? []).map((object) => [String(object.id), storedOf(object)])),
    ]),
  )
  const store = storeOf(objects)
  const snapshot = casbinPolicy(packPolicy(policy), resources, now)
  const active = { revision: '', snapshot, blocked: new Map() } as unknown as ActivePolicy
  const resource = resources.byName.get(request.resource) as Resource
  const [route] = resource.routes as [Route]
  const [[method, endpoint]] = [...route.endpoints] as [[Method, Endpoint]]
  const target = { path: route.path, query: '' }
  const match = { kind: 'route', route, endpoint, id: request.id, target } as const
  const facts: FactSource = {
    user: (id) => (resources.byName.has('users') ? store.get('users', id) : undefined),
    object: (name, id) => store.get(name, id),
    lookup: (lookup) => store.lookup(lookup),
  }
  try {
    const decision = await decideRequest({ resources, store }, active, {
      match,
      caller,
      at: now,
      address: request.address,
    })
    if (resource.builtIn) return { status: 204 }
    const handled: HandledRequest = {
      method,
      route,
      resource,
      caller,
      address: request.address ?? '',
      gone: () => new AbortController().signal,
      received: () => {
        throw new Error('nothing sends a batch')
      },
      ask: (steps) => withFacts(steps, facts),
      abilities: () => {
        throw new Error('nothing asks for them')
      },
      asked: () => {
        throw new Error('nothing refers to others')
      },
      resources,
      snapshot,
      policy: active,
      at: now,
      path: route.path,
      query: '',
      preconditions: {},
      writes: () => ({
        create: async (permit, outcome) => {
          objects
            .get(resource.name)
            ?.set(permit.id, { id: permit.id, version: 1, createdAt: '', updatedAt: '', document: permit.document })
          return { ...outcome, objectId: permit.id }
        },
        update: async (permit, outcome) => {
          const before = objects.get(resource.name)?.get(permit.id) as StoredObject
          objects.get(resource.name)?.set(permit.id, { ...before, document: permit.document })
          return outcome
        },
        delete: async (_, outcome) => outcome,
        record: () => '',
        committed: () => undefined,
      }),
    }
    const outcome = await handlerOf(route, endpoint.operation)(
      servicesOf(store),
      handled,
      decision,
      inputOf(one, endpoint),
    )
    return told(one, outcome, decision, objects)
  } catch (error) {
    if (!(error instanceof Problem || error instanceof Refused)) throw error
    const stepUp = error instanceof Refused ? error.refusal.stepUp?.conditions : undefined
    return { status: stepUp ? 401 : problemOf(error, caller).status, stepUp }
  }
}

function told(
  { request }: LanguageCase,
  outcome: Outcome,
  decision: Decision,
  objects: ReadonlyMap<string, ReadonlyMap<string, StoredObject>>,
): object {
  const body = outcome.body instanceof WrittenJson ? JSON.parse(outcome.body.text) : outcome.body
  const written = outcome.objectId ?? request.id ?? ''
  const stored = objects.get(request.resource)?.get(written)
  const object = stored && {
    ...withoutTimes(represent(stored)),
    ...(outcome.objectId === undefined ? {} : { id: 'new' }),
  }
  if (decision.kind === 'list') {
    const items = body.items as readonly Plain[]
    return {
      status: outcome.status,
      ids: [...decisionIds(decision.where, objects.get(request.resource), objects)].sort(),
      rows: Object.fromEntries(
        items.map((row, i) => [idOf(row, i, decision, request, objects), Object.keys(row).sort()]),
      ),
      queryable: [...decision.queryable.keys()].sort(),
    }
  }
  return { status: outcome.status, shows: Object.keys(body ?? {}).sort(), object }
}

function idOf(
  row: Plain,
  i: number,
  decision: Extract<Decision, { kind: 'list' }>,
  request: LanguageCase['request'],
  objects: ReadonlyMap<string, ReadonlyMap<string, StoredObject>>,
): string {
  return String(row.id ?? [...decisionIds(decision.where, objects.get(request.resource), objects)][i])
}

function* decisionIds(
  where: Extract<Decision, { kind: 'list' }>['where'],
  from: ReadonlyMap<string, StoredObject> = new Map(),
  objects: ReadonlyMap<string, ReadonlyMap<string, StoredObject>>,
): Generator<string> {
  for (const object of from.values()) if (meets(where, representationOf(object), lookUp(objects))) yield object.id
}

function lookUp(objects: ReadonlyMap<string, ReadonlyMap<string, StoredObject>>) {
  return lookUpIn((name) => [...(objects.get(name)?.values() ?? [])].map(representationOf))
}

function representationOf(object: StoredObject): Representation {
  return represent(object)
}

function withoutTimes({ createdAt, updatedAt, ...rest }: Representation): Representation {
  return rest
}

function storedOf({ id, createdAt = TIME, updatedAt = TIME, ...document }: Plain): StoredObject {
  return {
    id: String(id),
    version: 1,
    createdAt: String(createdAt),
    updatedAt: String(updatedAt),
    document: document as Document,
  }
}

type TestStore = Pick<Store, 'get' | 'list' | 'count' | 'aggregate' | 'kept' | 'lookup' | 'inOneReadTransaction'>

function storeOf(objects: ReadonlyMap<string, ReadonlyMap<string, StoredObject>>): TestStore {
  return {
    get: async (resource, id) => objects.get(resource)?.get(id),
    lookup: async (lookup) => lookUp(objects)(lookup),
    inOneReadTransaction: (work) => work(),
    list: async (resource, { where, marks = [] }) => {
      const found = [...(objects.get(resource)?.values() ?? [])]
      return found
        .filter((object) => meets(where, representationOf(object), lookUp(objects)))
        .map((object) =>
          listed(
            object,
            marks.map((mark) => meets(mark, representationOf(object), lookUp(objects))),
          ),
        )
    },
    count: async () => ({ found: 0, isExact: true }),
    aggregate: async () => [],
    kept: async () => undefined,
  }
}

function listed(object: StoredObject, marks: readonly boolean[]): ListedObject {
  // The cases have no times but those that they write.
  const shown = Object.entries(representationOf(object)).filter(([, value]) => value !== TIME)
  return {
    id: object.id,
    marks,
    json: ({ fields }) => JSON.stringify(Object.fromEntries(shown.filter(([name]) => fields.has(name)))),
    bytes: () => 1,
    bytesAtMost: () => 1,
  }
}

function unasked(): never {
  throw new Error('nothing asks for it')
}

function servicesOf(store: TestStore): Services {
  return {
    store,
    inFlight: new InFlight(),
    unread: new UnreadAnswers(),
    now: () => new Date(0),
    signIn: undefined,
    keySet: () => ({ keys: [] }),
    cursors: new Cursors(KEY),
    tags: new EntityTags(KEY),
    checks: async () => ({}),
    describe: unasked,
    batches: { ask: unasked, underWay: { run: unasked } },
    access: {
      resources: { byName: new Map(), routes: [] },
      store,
      directory: { accountStatus: unasked },
      verifier: { verify: unasked },
      publicUrl: () => '',
      slices: new SliceQueue(),
    },
  }
}

function inputOf({ request }: LanguageCase, { operation }: Endpoint): Input {
  const whole = {
    parameters: new Map(),
    limit: 200,
    filter: [],
    order: [],
    fields: undefined,
    counted: false,
    can: false,
  }
  if (operation === 'list') return { kind: 'list', query: whole, preconditions: {} }
  if (operation === 'create' || operation === 'replace' || operation === 'update') {
    return { kind: 'body', body: request.body ?? {}, preconditions: {} }
  }
  if (operation === 'read') return { kind: 'item', can: false, preconditions: {} }
  return { kind: 'nothing', preconditions: {} }
}
