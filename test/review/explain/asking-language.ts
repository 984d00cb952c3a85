/** Questions of `policy explain` about random worlds of the second edition. */
import { NO_MASKS, type Policy } from '../../../src/decide/policy.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { Method, Resources, Route } from '../../../src/resources/resource.ts'
import { explain } from '../../../src/tools/explain/explain.ts'
import type { Explanation } from '../../../src/tools/explain/explanation.ts'
import { readStateChange } from '../../../src/tools/explain/read-state-change.ts'
import type { KnownObject, KnownRequest, StateChange } from '../../../src/tools/explain/request.ts'
import type { Asked } from '../../policy/arbitrary-language.ts'
import { HEALTH } from '../../policy/fixture.ts'
import { STORED } from '../../policy/language-fixture.ts'
import { render } from '../../policy/render.ts'
import type { OraclePolicy, Plain } from '../../policy/world.ts'

const RESOURCES: Resources = {
  byName: new Map([...STORED, HEALTH].map((one) => [one.name, one])),
  routes: STORED.flatMap(({ routes }) => routes),
}

const LAYOUT = { lineEnd: '\n', padding: ' ', comments: false } as const

export function recordOf({ record, claims }: Asked['world']['caller']): Plain {
  return { tenant: null, teams: null, ...(record ?? claims) }
}

/** `change`: the states that the write changes, perhaps as --becomes names them. */
export function ask(
  { world, request, viewName }: Asked,
  known: KnownObject,
  told: KnownRequest,
  change?: string | StateChange,
): Explanation {
  const { caller, policy, now = 0 } = world
  const { method, route } = routeOf({ world, request, viewName })
  const endpoint = route.endpoints.get(method)
  if (!endpoint) throw new Error(`no ${method} on ${route.path}`)
  const files = render(policy, LAYOUT)
  const parsed = parsedOf(policy)
  const asking = { subject: caller.id, roles: caller.roles }
  const matched = { kind: 'route', method, route, endpoint, id: undefined } as const
  const context = { request: matched, policy: parsed, resources: RESOURCES }
  const becomes = typeof change === 'object' ? change : readStateChange(change, context)
  return explain({
    reviewed: { policy: parsed, blocked: new Map(), files, blockedFile: { name: 'blocked.txt', text: '' } },
    resources: RESOURCES,
    caller: caller.id === undefined ? { kind: 'anonymous' } : { kind: 'caller', ...asking },
    attributes: recordOf(caller),
    path: route.path,
    request: matched,
    known,
    assumed: { ...told, address: world.address },
    becomes,
    now,
  })
}

export function parsedOf(policy: OraclePolicy): Policy {
  return { ...parsePolicy(render(policy, LAYOUT), RESOURCES), masks: NO_MASKS }
}

function routeOf({ world, request, viewName }: Asked): { readonly method: Method; readonly route: Route } {
  const { action, operation = action } = request
  const routes = RESOURCES.byName.get(world.resource.name)?.routes ?? []
  for (const route of routes) {
    const found = [...route.endpoints].find(([, one]) => one.action === action && one.operation === operation)
    if (found) return { method: found[0], route: viewName === undefined ? route : { ...route, view: viewName } }
  }
  throw new Error(`no route for ${action}`)
}
