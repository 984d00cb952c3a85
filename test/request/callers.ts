/** The demo's callers with a token each, and one object of every kind to ask about. */
import type { TestServer } from '../server.ts'

export interface Callers {
  readonly alice: string
  readonly bob: string
  readonly sam: string
  readonly audrey: string
  readonly ada: string
}

/** Needs a server with demo data. */
export async function tokensOf({ token }: TestServer): Promise<Callers> {
  return {
    alice: await token('alice', 'member'),
    bob: await token('bob', 'member'),
    sam: await token('sam', 'support'),
    audrey: await token('audrey', 'auditor'),
    ada: await token('ada', 'admin'),
  }
}

/** The first object that a caller sees in a list. */
export async function firstOf(server: TestServer, path: string, token: string): Promise<Record<string, unknown>> {
  const { body } = await server.ask('GET', path, { token })
  return body.items[0]
}

/** A path of every route of the server but for those that only gateways ask, an item's with the id of an object that `ada` may read. */
export async function pathsOf(server: TestServer, ada: string): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>()
  for (const [resource, path] of [
    ['notes', '/api/v1/notes'],
    ['orders', '/api/orders'],
    ['accounts', '/api/accounts'],
  ] as const) {
    ids.set(resource, String((await firstOf(server, path, ada)).id))
  }
  ids.set('users', 'alice')
  const routes = [...server.app.resources.routes].filter(({ path, gateway }) => path !== '*' && !gateway)
  return new Map(routes.map(({ path, resource }) => [path, path.replace('{id}', ids.get(resource) ?? '')]))
}
