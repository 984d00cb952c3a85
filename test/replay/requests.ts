/**
 * One of everything: the demo callers ask each method of each route about own, others' and missing objects, with
 * several bodies: each of them in soak, and in `npm test` some of them each.
 */
import { randomUUID } from 'node:crypto'
import type { Method, Route } from '../../src/resources/resource.ts'
import { shareOf } from '../runs.ts'
import type { TestServer } from '../server.ts'

const CALLERS = {
  alice: ['member'],
  bob: ['member'],
  sam: ['support'],
  audrey: ['auditor'],
  ada: ['admin'],
  mallory: ['member', 'nobody-declared-this'],
  both: ['member', 'auditor'],
} as const

/** By resource: what is sent, as it should be, and as it shouldn't. */
const BODIES: Readonly<Record<string, () => readonly unknown[]>> = {
  notes: () => [{ title: 't' }, { title: 't', ownerId: 'bob' }, { title: 7 }, { id: 'x', title: 't' }, '{'],
  orders: () => [
    { currency: 'EUR', items: [{ sku: 'A1', quantity: 1, unitPrice: 100 }] },
    { status: 'shipped' },
    { status: 'placed', note: 'n' },
    { customerId: 'bob' },
    { note: null },
  ],
  accounts: () => [{ userId: 'alice', name: 'main', currency: 'EUR' }, { balance: 1_000_000 }, { name: 'n' }],
  users: () => [
    { email: `${randomUUID()}@example.com`, displayName: 'A' },
    { roles: ['admin'] },
    { displayName: 'B', bio: 'b' },
    { department: 'd', displayName: 'B' },
  ],
}

const PATCHES = [
  [{ op: 'test', path: '/status', value: 'draft' }],
  [{ op: 'copy', from: '/displayName', path: '/bio' }],
  [
    { op: 'test', path: '/email', value: 'x' },
    { op: 'replace', path: '/displayName', value: 'C' },
  ],
  [{ op: 'add', path: '/title', value: 'u' }],
]

/**
 * Asks everything but what only gateways ask; how many requests that were. Deletes come last, so that there is
 * something to ask about.
 */
export async function askEverything(server: TestServer, only: (route: Route) => boolean = () => true): Promise<number> {
  const tokens = new Map<string, string | undefined>([['anonymous', undefined]])
  for (const [id, roles] of Object.entries(CALLERS)) tokens.set(id, await server.token(id, ...roles))
  const routes = server.app.resources.routes.filter(({ path, gateway }) => path !== '*' && !gateway).filter(only)
  let asked = 0
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'PATCH', 'PUT', 'DELETE'] as const) {
    for (const route of routes) asked += await askRoute(server, { method, route, tokens })
  }
  return asked
}

interface Round {
  readonly method: Method
  readonly route: Route
  /** By caller; undefined for anonymous. */
  readonly tokens: ReadonlyMap<string, string | undefined>
}

async function askRoute(server: TestServer, { method, route, tokens }: Round): Promise<number> {
  const paths = await pathsOf(server, route, tokens.get('ada'))
  const requests = paths.flatMap((path) => bodiesFor(method, route).map((body) => ({ path, body })))
  let asked = 0
  for (const [i, { path, body }] of requests.entries()) {
    for (const token of shareOf([...tokens.values()], i)) {
      await server.ask(method, path, { token, body, headers: typeOf(body) })
      asked += 1
    }
  }
  return asked
}

/** JSON Patches are arrays. */
function typeOf(body: unknown): Record<string, string> {
  return Array.isArray(body) ? { 'content-type': 'application/json-patch+json' } : {}
}

function bodiesFor(method: Method, { resource }: Route): readonly unknown[] {
  if (method !== 'POST' && method !== 'PUT' && method !== 'PATCH') return [undefined]
  const bodies = BODIES[resource]?.() ?? [{}]
  return method === 'PATCH' ? [...bodies, ...PATCHES] : bodies
}

/** Objects of alice and of bob, and one that isn't there. */
async function pathsOf(
  server: TestServer,
  { path, resource }: Route,
  admin: string | undefined,
): Promise<readonly string[]> {
  if (!path.includes('{id}'))
    return [path, `${path}?limit=2&sort=-id`, `${path}?unknown=1`, `${path}?status=draft&fields=id`, `${path}?email=x`]
  const collection = server.app.resources.byName.get(resource)?.routes.find(({ kind }) => kind === 'collection')
  const { body } = await server.ask('GET', `${collection?.path}?limit=4`, { token: admin })
  const ids: string[] = (body?.items ?? []).map(({ id }: { id: string }) => id)
  return [...ids, randomUUID(), 'alice'].map((id) => path.replace('{id}', id))
}
