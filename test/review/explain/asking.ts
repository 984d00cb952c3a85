/** Questions about the resources of test/policy/fixture.ts, which have no routes of their own. */

import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../../src/policy/policy-files.ts'
import { makeEndpoints } from '../../../src/resources/load/make-routes.ts'
import type { Method, Operation, Route, RouteKind } from '../../../src/resources/resource.ts'
import { explain } from '../../../src/tools/explain/explain.ts'
import type { Explanation } from '../../../src/tools/explain/explanation.ts'
import type { AskingCaller, KnownObject } from '../../../src/tools/explain/request.ts'
import { RESOURCES } from '../../policy/fixture.ts'
import type { OracleCaller } from '../../policy/world.ts'

export interface RouteMethod {
  readonly method: Method
  readonly route: Route
}

const ITEM: readonly (readonly [string, Operation])[] = [
  ['GET', 'read'],
  ['PUT', 'replace'],
  ['PATCH', 'update'],
  ['DELETE', 'delete'],
]

/** Every kind of request about docs; `view` is a view of the policy. */
export function spotsOfDocs(view: string | undefined): readonly RouteMethod[] {
  const item = routeOf('/docs/{id}', 'item', ITEM)
  const peek = { ...routeOf('/peek/{id}', 'item', [['GET', 'read']]), ...ownAction('peek') }
  const collection = routeOf('/docs', 'collection', [
    ['GET', 'list'],
    ['POST', 'create'],
  ])
  const narrowed = view === undefined ? [] : [{ ...routeOf('/docs/{id}/part', 'item', ITEM.slice(0, 1)), view }]
  return [item, peek, collection, ...narrowed].flatMap((route) =>
    [...route.endpoints.keys()].map((method) => ({ method, route })),
  )
}

function routeOf(path: string, kind: RouteKind, operations: readonly (readonly [string, Operation])[]): Route {
  return { path, resource: 'docs', kind, ...makeEndpoints(new Map(operations), (operation) => operation) }
}

function ownAction(name: string): Pick<Route, 'endpoints' | 'allow'> {
  return makeEndpoints(new Map([['GET', 'read']]), (operation) => (operation === 'options' ? operation : name))
}

function askingCaller({ id, roles }: OracleCaller): AskingCaller {
  return id === undefined ? { kind: 'anonymous' } : { kind: 'caller', subject: id, roles }
}

export function ask(
  files: PolicyFiles,
  { method, route }: RouteMethod,
  caller: OracleCaller,
  known: KnownObject,
  now = 0,
): Explanation {
  const endpoint = route.endpoints.get(method)
  if (!endpoint) throw new Error(`no ${method} on ${route.path}`)
  const blockedFile = { name: 'blocked.txt', text: '' }
  return explain({
    reviewed: { policy: parsePolicy(files, RESOURCES), blocked: new Map(), files, blockedFile },
    resources: RESOURCES,
    caller: askingCaller(caller),
    path: route.path,
    request: { kind: 'route', method, route, endpoint, id: undefined },
    known,
    assumed: {},
    now,
  })
}
