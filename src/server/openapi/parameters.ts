/** The parameters of an operation: the path's id, conditions, and the query of a list. */

import type { RouteMethod } from '../../decide/callers-and-routes.ts'
import { servedRoute } from '../../decide/object-routes.ts'
import type { Limits } from '../../decide/policy.ts'
import { BATCHES } from '../../resources/built-in/batch.ts'
import { type Field, isAggregated, type Resources, type Route } from '../../resources/resource.ts'
import { parameterOf } from '../../resources/routing/path-parameter.ts'
import { FUNCTIONS, isNumber } from '../input/read-aggregates.ts'
import { type Access, fieldsShown } from './access.ts'
import { type Components, type Part, pascal } from './components.ts'
import type { ResourceSchemas } from './resource-schemas.ts'

/** Published versions have numbers, which answers and requests name. */
export type PolicyOrigin = 'folder' | 'published'

export interface Describing {
  readonly origin: PolicyOrigin
  readonly access: Access
  readonly resources: Resources
  readonly schemas: ResourceSchemas
  readonly components: Components
}

const IF_MATCH =
  'Entity tags of the expected states of the object, or `*`; the answer is 412 if none matches (RFC 9110).'

const IF_NONE_MATCH = 'Entity tags that the client has; the answer is 304 if one matches.'

const CAN = 'Each object tells which actions the caller may do on it, and which fields the caller may write.'

const EXPAND =
  'References whose objects the answer shows too, under `expanded`: fields, or paths of up to three fields (`a.b.c`).'

const AGGREGATES =
  'Shows no objects, but `groups`: the number of all that match (`count`), and what is computed of their numbers.'

const IDEMPOTENCY_KEY = 'Makes the request safe to repeat for 24 hours: each repeat gets the first answer.'

const AT = 'The version of this time alone, without `limit` and `cursor`; the answer is 404 if none is kept.'

const LAST_EVENT_ID = 'The `id` of the last event that the client has got: the stream goes on after it.'

const AT_LEAST =
  'Only an instance with this published policy, or a later one, answers; another one answers 503. See Policy-Sequence.'

export function parametersOf(routeMethod: RouteMethod, describing: Describing): readonly Part[] {
  const { route, endpoint, resource } = routeMethod
  const id = pathParameters(route, describing)
  if (route.resource === BATCHES && endpoint.operation === 'create') {
    return [headerParameter(describing, 'Idempotency-Key', IDEMPOTENCY_KEY)]
  }
  if (route.redirect || resource.builtIn) return id
  const own = ownParameters(routeMethod, id, describing)
  if (describing.origin === 'folder') return own
  return [...own, headerParameter(describing, 'Policy-Sequence-At-Least', AT_LEAST)]
}

function ownParameters(routeMethod: RouteMethod, id: readonly Part[], describing: Describing): readonly Part[] {
  const { endpoint } = routeMethod
  switch (endpoint.operation) {
    case 'list':
      return [...id, ...listParameters(routeMethod, describing)]
    case 'read':
      if (routeMethod.route.history) return [...id, ...historyParameters(describing)]
      return [
        ...id,
        canParameter(describing),
        ...expandParameter(routeMethod, describing),
        headerParameter(describing, 'If-None-Match', IF_NONE_MATCH),
      ]
    case 'watch':
      return eventParameters(routeMethod, describing)
    case 'create':
      return [...id, headerParameter(describing, 'Idempotency-Key', IDEMPOTENCY_KEY)]
    case 'replace':
    case 'update':
    case 'delete':
      if (!routeMethod.route.command) return [...id, ifMatch(routeMethod, describing)]
      return [...id, ifMatch(routeMethod, describing), headerParameter(describing, 'Idempotency-Key', IDEMPOTENCY_KEY)]
    default:
      return id
  }
}

function pathParameters({ path, parent }: Route, describing: Describing): readonly Part[] {
  if (parent) return [parentParameter(parent, describing)]
  return parameterOf(path) === undefined ? [] : [idParameter(describing)]
}

function parentParameter({ field, resource }: NonNullable<Route['parent']>, { schemas, components }: Describing): Part {
  const description = `The id of an object of ${resource}: the \`${field}\` of the objects that the operation is about.`
  const part = { name: field, in: 'path', description, required: true, schema: { type: 'string', minLength: 1 } }
  return components.add('parameters', schemas.base + pascal(field), part)
}

function idParameter({ schemas, components }: Describing): Part {
  const { readOnly, ...schema } = schemas.field('id')
  return components.add('parameters', `${schemas.base}Id`, { name: 'id', in: 'path', required: true, schema })
}

function canParameter({ components }: Pick<Describing, 'components'>): Part {
  return queryComponent(components, 'can', CAN, { type: 'boolean', const: true })
}

/** Deeper paths go on with references of the objects that these lead to. */
function expandParameter(routeMethod: RouteMethod, { access }: Pick<Describing, 'access'>): readonly Part[] {
  const { some } = fieldsShown(access, routeMethod)
  const names = (routeMethod.resource.references ?? []).map(({ field }) => field).filter((name) => some.has(name))
  const pattern = `^(?:${names.join('|')})(?:\\.[A-Za-z][A-Za-z0-9_]*){0,2}$`
  return names.length === 0 ? [] : [listOf('expand', EXPAND, { items: { type: 'string', pattern }, maxItems: 10 })]
}

function ifMatch({ route }: RouteMethod, describing: Describing): Part {
  if (route.precondition !== 'required') return headerParameter(describing, 'If-Match', IF_MATCH)
  const part = { name: 'If-Match', in: 'header', description: IF_MATCH, required: true, schema: { type: 'string' } }
  return describing.components.add('parameters', 'If-Match-Required', part)
}

function headerParameter({ components }: Describing, name: string, description: string): Part {
  return components.add('parameters', name, { name, in: 'header', description, schema: { type: 'string' } })
}

function queryableFields({ fields }: RouteMethod['resource'], every: ReadonlySet<string>): readonly Field[] {
  return [...fields.values()].filter(({ name, indexed }) => every.has(name) && (indexed || name === 'id'))
}

/** A stream has the filters of the list, whose action may have another name. */
function eventParameters(routeMethod: RouteMethod, describing: Describing): readonly Part[] {
  const { access, schemas } = describing
  const { resource } = routeMethod
  const action = servedRoute(resource, 'list', 0)?.endpoint.action ?? 'list'
  const { every } = fieldsShown(access, { ...routeMethod, endpoint: { operation: 'list', action } })
  return [
    ...queryableFields(resource, every).flatMap((field) => filters(field, schemas)),
    headerParameter(describing, 'Last-Event-ID', LAST_EVENT_ID),
  ]
}

function listParameters(routeMethod: RouteMethod, { access, schemas, components }: Describing): readonly Part[] {
  const { page } = access.snapshot.limits
  const { some, every } = fieldsShown(access, routeMethod)
  const queryable = queryableFields(routeMethod.resource, every)
  const names = queryable.map(({ name }) => name)
  const sorted = listOf('sort', 'Fields to sort by, with `-` before a descending one.', {
    items: { type: 'string', enum: names.flatMap(bothWays) },
    not: { anyOf: names.map((name) => ({ allOf: bothWays(name).map((one) => ({ contains: { const: one } })) })) },
  })
  const fields = listOf('fields', 'The fields to show.', { items: { type: 'string', enum: [...some] } })
  return [
    ...pageParameters(page, components),
    canParameter({ components }),
    ...expandParameter(routeMethod, { access }),
    ...(names.length > 0 ? [sorted] : []),
    ...(isAggregated(routeMethod.resource) ? aggregateParameters(queryable) : []),
    ...(some.size > 0 ? [fields] : []),
    ...queryable.flatMap((field) => filters(field, schemas)),
  ]
}

function aggregateParameters(queryable: readonly Field[]): readonly Part[] {
  const numbers = queryable.filter(isNumber).map(({ name }) => name)
  const ofNumbers = numbers.length === 0 ? '' : `|(?:${FUNCTIONS.join('|')})\\((?:${numbers.join('|')})\\)`
  const asked = { items: { type: 'string', pattern: `^(?:count${ofNumbers})$` }, maxItems: 10 }
  const names = queryable.map(({ name }) => name)
  const by = listOf('by', 'With `aggregate`: the fields whose values make the groups.', {
    items: { type: 'string', enum: names },
    maxItems: 3,
  })
  return [listOf('aggregate', AGGREGATES, asked), ...(names.length > 0 ? [by] : [])]
}

function pageParameters(page: Limits['page'], components: Components): readonly Part[] {
  const count = { type: 'string', const: 'exact' }
  const limit = { type: 'integer', minimum: 1, maximum: page.max, default: page.default }
  return [
    queryComponent(components, 'limit', 'The largest number of objects on a page.', limit),
    queryComponent(components, 'cursor', 'The `next` of the previous page; repeat the same query.', { type: 'string' }),
    queryComponent(
      components,
      'count',
      '`exact` adds `total`, the number of all matching objects, or `totalAtLeast` where that would take too long.',
      count,
    ),
  ]
}

function historyParameters({ access, components }: Describing): readonly Part[] {
  const shown = pageParameters(access.snapshot.limits.page, components).slice(0, 2)
  return [...shown, queryComponent(components, 'at', AT, { type: 'string', format: 'date-time' })]
}

function queryComponent(components: Components, name: string, description: string, schema: Part): Part {
  return components.add('parameters', name, { name, in: 'query', description, schema })
}

function bothWays(name: string): readonly string[] {
  return [name, `-${name}`]
}

function listOf(name: string, description: string, values: Part): Part {
  const schema = { type: 'array', minItems: 1, uniqueItems: true, ...values }
  return { name, in: 'query', description, style: 'form', explode: false, schema }
}

/**
 * docs/http.md: equality and `in` take only values that the schema lists, if it lists any. The other filters compare,
 * and booleans have no order.
 */
function filters(field: Field, schemas: ResourceSchemas): readonly Part[] {
  const { name, type } = field
  const { readOnly, default: _, description, ...schema } = schemas.field(name)
  const query = (suffix: string, text: string, more: Part): Part => ({
    name: name + suffix,
    in: 'query',
    description: `${name} ${text}.`,
    ...more,
  })
  const member = query('', 'equals this value', { schema })
  const members = { style: 'form', explode: false, schema: { type: 'array', minItems: 1, items: schema } }
  const plain = field.time ? { type: 'string', format: 'date-time' } : { type }
  const comparisons = type === 'boolean' ? [] : COMPARISONS
  return [
    member,
    query('[in]', 'is one of these values', members),
    ...comparisons.map(([operator, text]) => query(`[${operator}]`, text, { schema: plain })),
  ]
}

const COMPARISONS = [
  ['gt', 'is greater or later than this value'],
  ['gte', 'equals this value, or is greater or later'],
  ['lt', 'is less or earlier than this value'],
  ['lte', 'equals this value, or is less or earlier'],
] as const
