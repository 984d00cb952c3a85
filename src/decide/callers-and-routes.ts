/**
 * The space of requests, which is finite: callers that rules can distinguish, and routes with their methods. Every
 * review command enumerates it from here; the sets of relations are in src/analysis/possible-sets.ts.
 */

import type { Action, Command, Endpoint, Method, Resource, Resources, Route } from '../resources/resource.ts'
import type { Caller } from './caller.ts'
import { inheritedBy, type Policy } from './policy.ts'
import { comparedAttributes } from './relations/all-kinds.ts'
import { roleGuaranteesOf, rolesLost } from './role-guarantees.ts'

/** A caller that rules can distinguish from others. */
export interface CallerColumn {
  /** `anonymous`, `everyone` (a caller with no role), a role, roles joined with `+`, or `user:<id>`. */
  readonly name: string
  /** With `everyone` and all that roles inherit. */
  readonly subjects: ReadonlySet<string>
}

/** One method of one route. */
export interface RouteMethod {
  readonly route: Route
  readonly method: Method
  readonly endpoint: Endpoint
  readonly resource: Resource
  readonly action: Action
}

/** The columns of single subjects: anonymous, everyone, each declared role, each user that a rule names. */
export function callerColumns(policy: Policy): readonly CallerColumn[] {
  const users = new Set(policy.rules.map(({ subject }) => subject).filter((subject) => subject.startsWith('user:')))
  return [
    { name: 'anonymous', subjects: new Set(['everyone', 'anonymous']) },
    { name: 'everyone', subjects: new Set(['everyone']) },
    ...[...policy.roles.keys()].map((role) => columnOfRoles(policy, [role])),
    ...[...users].map((user) => ({ name: user, subjects: new Set(['everyone', user]) })),
  ]
}

/** A caller who holds these roles: one that isn't declared grants nothing, and those that must stay apart are lost. */
export function columnOfRoles(policy: Policy, roles: readonly string[]): CallerColumn {
  const lost = roles.length < 2 ? [] : rolesLost(roleGuaranteesOf(policy).apart, roles)
  const counting = roles.filter((role) => policy.roles.has(role) && !lost.includes(role))
  const inherited = counting.flatMap((role) => [...inheritedBy(policy, role)])
  return { name: roles.join('+'), subjects: new Set(['everyone', ...inherited]) }
}

/** A caller with these subjects; undefined without credentials. */
export function callerWith(policy: Policy, subjects: ReadonlySet<string>): Caller | undefined {
  if (subjects.has('anonymous')) return undefined
  const user = [...subjects].find((subject) => subject.startsWith('user:'))
  return anyCaller(policy, {
    id: user?.slice('user:'.length),
    roles: [...subjects].filter((subject) => policy.roles.has(subject)),
  })
}

/** A caller with credentials, each of whose attributes may have any value. Without an id: no user that a rule names. */
export function anyCaller(
  { ownership }: Policy,
  { id = '', roles }: { id?: string | undefined; roles: readonly string[] },
): Caller {
  const relations = [...ownership.values()].flatMap((one) => [...one.relations.values()])
  const attributes = relations.flatMap(comparedAttributes).filter((name) => name !== 'id')
  return { id, roles, claims: Object.fromEntries(attributes.map((name) => [name, ''])) }
}

/** How an object of the resource is created: by the POST of its collection, or else by the action `create`. */
export function createRoute({ name, routes }: Resource): Pick<RouteMethod, 'route' | 'endpoint'> {
  const served = routes
    .filter(({ kind, parent, redirect }) => kind === 'collection' && !parent && !redirect)
    .flatMap((route) => [...route.endpoints.values()].map((endpoint) => ({ route, endpoint })))
    .find(({ endpoint }) => endpoint.operation === 'create')
  if (served) return served
  const route: Route = { path: '', resource: name, kind: 'collection', endpoints: new Map(), allow: '' }
  return { route, endpoint: { operation: 'create', action: 'create' } }
}

/** Every method of every route, HEAD and OPTIONS included. */
export function routeMethodsOf({ routes, byName }: Resources): readonly RouteMethod[] {
  return routes.flatMap((route) =>
    [...route.endpoints].flatMap(([method, endpoint]) => {
      const resource = byName.get(route.resource)
      const action = resource?.actions.get(endpoint.action)
      return resource && action ? [{ route, method, endpoint, resource, action }] : []
    }),
  )
}

/** Whether a decision about this method of a route depends on an object, so that relations can hold. */
export function concernsObject({
  endpoint,
  resource,
  route,
}: Pick<RouteMethod, 'endpoint' | 'resource' | 'route'>): boolean {
  return endpoint.operation !== 'options' && !resource.builtIn && route.redirect === undefined
}

/** What the methods of an action do, each once; without a method, what the action's name says. */
export function operationsOf({ routes }: Resource, action: string): readonly string[] {
  const endpoints = routes.flatMap((route) => [...route.endpoints.values()])
  const operations = endpoints.filter((one) => one.action === action).map(({ operation }) => operation)
  return operations.length === 0 ? [action] : [...new Set(operations)]
}

/** The command of an action; no other route of the resource has its action. */
export function commandByAction({ routes }: Resource, action: string): Command | undefined {
  return routes.find(({ command, endpoints }) => command && endpoints.get('POST')?.action === action)?.command
}

/** A write to a stored object is decided on its result too. */
export function changesStored(operation: string): boolean {
  return operation === 'replace' || operation === 'update'
}
