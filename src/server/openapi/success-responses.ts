/** The successful answers of an operation: 200, 201, 204, 304 and redirects. */
import { type RouteMethod, routeMethodsOf } from '../../decide/callers-and-routes.ts'
import { BATCHES } from '../../resources/built-in/batch.ts'
import { isAggregated, type Operation, type Resource, type RouteExchange } from '../../resources/resource.ts'
import { redirectStatus, successStatus } from '../../resources/routing/success-status.ts'
import { EVENT_STREAM } from '../answers/event-stream.ts'
import { RESET_REASONS } from '../events/event-text.ts'
import { MOST_GROUPS } from '../input/read-aggregates.ts'
import { type Access, fieldsShown } from './access.ts'
import { type Part, pascal } from './components.ts'
import { type Headers, headersPart, joinHeaders } from './headers.ts'
import type { Describing } from './parameters.ts'

const JSON_TYPE = 'application/json'

const NO_HEADERS: Headers = { always: [], maybe: [] }
const TAGGED: Headers = { always: ['ETag'], maybe: [] }

interface Reply {
  readonly status: number
  readonly description: string
  readonly headers: Headers
  readonly schema?: Part
  /** Undefined for JSON. */
  readonly mediaType?: string
}

/** By status, as `responses` of an operation has them. `common`: headers of every answer of the route. */
export function successResponses(routeMethod: RouteMethod, describing: Describing, common: Headers): Part {
  const entries = answersOf(routeMethod, describing).map(
    ({ status, description, headers, schema, mediaType = JSON_TYPE }) => {
      const content = schema === undefined ? {} : { content: { [mediaType]: { schema } } }
      const part = {
        description,
        headers: headersPart(describing.components, joinHeaders(headers, common)),
        ...content,
      }
      return [status, part] as const
    },
  )
  return Object.fromEntries(entries)
}

function answersOf(routeMethod: RouteMethod, describing: Describing): readonly Reply[] {
  const { route, endpoint, resource } = routeMethod
  if (endpoint.operation === 'options') return [optionsAnswer(routeMethod)]
  if (route.redirect) return [redirectAnswer(route.redirect, routeMethod)]
  if (resource.builtIn) return [builtInAnswer(routeMethod, describing)]
  switch (endpoint.operation) {
    case 'list':
      return [listAnswer(routeMethod, describing)]
    case 'read':
      return route.history ? [historyAnswer(routeMethod, describing)] : readAnswers(routeMethod, describing)
    case 'watch':
      return [eventsAnswer(routeMethod, describing)]
    case 'create':
      return [createAnswer(routeMethod, describing)]
    case 'delete':
      return [{ status: successStatus('delete'), description: 'The object is deleted.', headers: NO_HEADERS }]
    default:
      return writeAnswers(routeMethod, describing)
  }
}

function optionsAnswer({ route }: RouteMethod): Reply {
  const patch: Headers = route.endpoints.has('PATCH') ? { always: ['Accept-Patch'], maybe: [] } : NO_HEADERS
  const headers = joinHeaders({ always: ['Allow'], maybe: [] }, patch)
  return { status: successStatus('options'), description: 'The methods that the path accepts.', headers }
}

function redirectAnswer(redirect: NonNullable<RouteMethod['route']['redirect']>, { method }: RouteMethod): Reply {
  const description = redirect.permanent ? 'The path moved permanently.' : 'The path moved temporarily.'
  return { status: redirectStatus(redirect, method), description, headers: { always: ['Location'], maybe: [] } }
}

function builtInAnswer({ route, resource, endpoint }: RouteMethod, { access, schemas, components }: Describing): Reply {
  if (endpoint.operation === 'delete')
    return { status: 204, description: 'The session has ended.', headers: NO_HEADERS }
  const { exchange } = route
  if (exchange && (endpoint.operation === 'create' || !exchange.takes)) {
    const headers: Headers = { always: [], maybe: route.resource === BATCHES ? ['Idempotency-Replayed'] : [] }
    return { ...exchangeAnswer(exchange, components), headers }
  }
  const description = schemas.description ?? resource.name
  const answer = { status: 200, description, headers: NO_HEADERS }
  if (resource.fields.size === 0) return { ...answer, schema: components.add('schemas', schemas.base, schemas.whole) }
  const { some } = access.granted(resource, 'read')
  return { ...answer, schema: components.add('schemas', schemas.base, schemas.object(some, new Set())) }
}

function exchangeAnswer({ gives, streams }: RouteExchange, components: Describing['components']): Reply {
  const description = String(gives.description)
  const answer = { status: 200, description, headers: NO_HEADERS, schema: components.addTitled(gives) }
  return streams ? { ...answer, mediaType: EVENT_STREAM } : answer
}

function listAnswer(routeMethod: RouteMethod, describing: Describing): Reply {
  const { components, schemas } = describing
  const name = schemas.base + viewName(routeMethod)
  // The parameter `fields` can leave any of them out.
  const { resource } = routeMethod
  const can = canOfObject(resource, describing)
  const listed = schemas.object(fieldsShown(describing.access, routeMethod).some, new Set(), {
    can,
    ...expandedOf(resource),
  })
  const page = {
    type: 'object',
    properties: {
      items: { type: 'array', items: components.add('schemas', `${name}Listed`, listed) },
      next: { description: 'The `cursor` of the next page; null on the last one.', type: ['string', 'null'] },
      total: { description: 'With `count=exact`: the number of matching objects.', type: 'integer', minimum: 0 },
      totalAtLeast: {
        description:
          'With `count=exact`, in place of `total` where counting would take too long: at least so many match.',
        type: 'integer',
        minimum: 0,
      },
      can: canOfList(resource, describing),
      ...(isAggregated(resource) && { groups: groupsPart(describing) }),
    },
    required: ['items', 'next'],
    additionalProperties: false,
  }
  const schema = components.add('schemas', `${name}Page`, page)
  const headers: Headers = { always: [], maybe: ['Link'] }
  return {
    status: successStatus('list'),
    description: 'A page of the objects that the caller may list.',
    headers,
    schema,
  }
}

const EVENTS =
  'Server-sent events (docs/events.md). The `data` of `appeared` and `changed` is the object, as a GET shows it; that of `gone` has its id alone. After `reset`, read the list again.'

function eventsAnswer(routeMethod: RouteMethod, describing: Describing): Reply {
  const { components, schemas } = describing
  // An object without its id has no events.
  const shown = schemas.object(fieldsShown(describing.access, routeMethod).some, new Set(['id']))
  const text = { type: 'string' }
  const event = (kinds: readonly string[], data: Part) => ({
    type: 'object',
    properties: { id: text, event: { type: 'string', enum: kinds }, data },
    required: ['id', 'event', 'data'],
    additionalProperties: false,
  })
  const gone = { type: 'object', properties: { id: text }, required: ['id'], additionalProperties: false }
  const reset = {
    type: 'object',
    properties: { reason: { type: 'string', enum: RESET_REASONS } },
    required: ['reason'],
  }
  const schema = components.add('schemas', `${schemas.base + viewName(routeMethod)}Event`, {
    oneOf: [event(['appeared', 'changed'], shown), event(['gone'], gone), event(['reset'], reset)],
  })
  const { status, description, headers } = { status: successStatus('watch'), description: EVENTS, headers: NO_HEADERS }
  return { status, description, headers, schema, mediaType: EVENT_STREAM }
}

const GROUPS =
  'With `aggregate`, in place of `items`: what was asked for, by its name, of each group. Texts have the digits of numbers that a double would round.'

function groupsPart({ components }: Describing): Part {
  const number = { type: ['number', 'string', 'null'] }
  const group = components.add('schemas', 'AggregatedGroup', {
    type: 'object',
    properties: {
      by: { description: 'The values of the group.', type: 'object', additionalProperties: true },
      count: { type: 'integer', minimum: 0 },
    },
    patternProperties: { '^(?:sum|min|max|avg)\\(\\w+\\)$': number },
    additionalProperties: false,
  })
  return { description: GROUPS, type: 'array', maxItems: MOST_GROUPS, items: group }
}

function readAnswers(routeMethod: RouteMethod, describing: Describing): readonly Reply[] {
  const schema = representation(routeMethod, describing)
  return [
    {
      status: successStatus('read'),
      description: 'The fields of the object that the caller may read.',
      headers: TAGGED,
      ...schema,
    },
    { status: 304, description: 'The client already has this representation (If-None-Match).', headers: TAGGED },
  ]
}

const VERSION = {
  version: { description: 'Grows by one with each write.', type: 'integer', minimum: 1 },
  at: { description: 'When it was written.', type: 'string', format: 'date-time' },
  by: {
    description:
      'Who wrote it, and the lines of the policy that allowed it. Absent where it is not kept, and for callers who may not read the record of the writer.',
    type: 'object',
    properties: {
      subject: { type: 'string' },
      requestId: { type: 'string' },
      action: { type: 'string' },
      revision: { type: 'string' },
      rules: { type: 'array', items: { type: 'string' } },
    },
    required: ['subject', 'requestId', 'revision'],
    additionalProperties: false,
  },
}

function historyAnswer(routeMethod: RouteMethod, describing: Describing): Reply {
  const { access, components, schemas } = describing
  const object = schemas.object(fieldsShown(access, routeMethod).some, new Set())
  const version = components.add('schemas', `${schemas.base}Version`, {
    type: 'object',
    properties: { ...VERSION, object: { ...object, description: 'Null for a delete.', type: ['object', 'null'] } },
    required: ['version', 'at', 'object'],
    additionalProperties: false,
  })
  const schema = components.add('schemas', `${schemas.base}History`, {
    type: 'object',
    properties: {
      items: { type: 'array', items: version },
      next: { description: 'The `cursor` of the next page; null on the last one.', type: ['string', 'null'] },
    },
    required: ['items', 'next'],
    additionalProperties: false,
  })
  const description = 'Versions of the object, the newest first.'
  return { status: successStatus('read'), description, headers: NO_HEADERS, schema }
}

function createAnswer(routeMethod: RouteMethod, describing: Describing): Reply {
  const { canonicalItemPath } = routeMethod.resource
  const location: Headers = canonicalItemPath === undefined ? NO_HEADERS : { always: ['Location'], maybe: [] }
  const readable = fieldsShown(describing.access, routeMethod).some.size > 0
  return {
    status: successStatus('create'),
    description:
      'The object is created. The body has the fields that the caller may read; it is empty if there are none.',
    headers: joinHeaders(location, {
      always: [],
      maybe: readable ? ['ETag', 'Idempotency-Replayed'] : ['Idempotency-Replayed'],
    }),
    ...(readable ? representation(routeMethod, describing) : {}),
  }
}

function writeAnswers(routeMethod: RouteMethod, describing: Describing): readonly Reply[] {
  const unread: Reply = {
    status: successStatus('update', false),
    description: 'The object is written, and the caller may read none of its fields.',
    headers: routeMethod.route.command ? { always: [], maybe: ['Idempotency-Replayed'] } : NO_HEADERS,
  }
  if (fieldsShown(describing.access, routeMethod).some.size === 0) return [unread]
  const headers: Headers = routeMethod.route.command
    ? { always: ['ETag'], maybe: ['Content-Location', 'Idempotency-Replayed'] }
    : { always: ['ETag', 'Content-Location'], maybe: [] }
  const written = 'The object is written. The body has the fields that the caller may read.'
  return [
    { status: successStatus('update'), description: written, headers, ...representation(routeMethod, describing) },
    unread,
  ]
}

function representation(routeMethod: RouteMethod, describing: Describing): { readonly schema: Part } {
  const { access, components, schemas } = describing
  const { some, every } = fieldsShown(access, routeMethod)
  const required = schemas.required.union(SERVER_FIELDS).intersection(every)
  // The answers to reads and to writes share a name, although only a read has `can`.
  const { resource } = routeMethod
  const shown = schemas.object(some, required, { can: canOfObject(resource, describing), ...expandedOf(resource) })
  return { schema: components.add('schemas', schemas.base + viewName(routeMethod), shown) }
}

const SERVER_FIELDS: ReadonlySet<string> = new Set(['id', 'createdAt', 'updatedAt'])

/** `/profile/{id}` shows another part of users than `/users/{id}` does. */
function viewName({ route, endpoint }: RouteMethod): string {
  const own = endpoint.action === endpoint.operation || endpoint.operation !== 'read' ? '' : pascal(endpoint.action)
  return own + pascal(route.view ?? '')
}

const OF_AN_OBJECT =
  'With `can=true`: the actions that the caller may do on this object, and the fields that the caller may write to it.'

const OF_A_LIST =
  'With `can=true`: the actions of the collection that the caller may do, and the fields of a new object.'

const EXPANDED =
  'With `expand`: by each path that was asked for, the object that it leads to, as a GET of it shows it. What is missing, or what this caller may not read, is absent.'

function expandedOf({ references }: Resource): Record<string, Part> {
  if (!references) return {}
  return {
    expanded: {
      description: EXPANDED,
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: true },
    },
  }
}

/** The member of an object. */
function canOfObject(resource: Resource, describing: Describing): Part {
  return member(resource, describing, {
    name: 'Can',
    description: OF_AN_OBJECT,
    isIn: ({ route }) => route.kind !== 'collection',
    writing: ['update', 'replace'],
  })
}

/** The member of a list. */
function canOfList(resource: Resource, describing: Describing): Part {
  return member(resource, describing, {
    name: 'ListCan',
    description: OF_A_LIST,
    isIn: ({ route }) => route.kind === 'collection',
    writing: ['create'],
  })
}

interface ShownMember {
  readonly name: string
  readonly description: string
  readonly isIn: (routeMethod: RouteMethod) => boolean
  readonly writing: readonly Operation[]
}

function member(resource: Resource, { access, components, schemas }: Describing, about: ShownMember): Part {
  const offered = offeredBy(access, resource).filter(about.isIn)
  const actions = new Set(offered.map(({ action }) => action.name))
  const writing = about.writing.filter((action) => actions.has(action))
  const granted = new Set(writing.flatMap((action) => [...access.granted(resource, action).some]))
  const writable = [...resource.fields.values()].filter(({ name, readOnly }) => !readOnly && granted.has(name))
  return components.add('schemas', schemas.base + about.name, {
    description: about.description,
    type: 'object',
    properties: {
      actions: someOf([...resource.actions.keys()].filter((action) => actions.has(action))),
      fields: someOf(writable.map(({ name }) => name)),
    },
    required: ['actions', 'fields'],
    additionalProperties: false,
  })
}

function offeredBy(access: Access, resource: Resource): readonly RouteMethod[] {
  const methods = routeMethodsOf({ routes: resource.routes, byName: new Map([[resource.name, resource]]) })
  return methods.filter((one) => one.endpoint.operation !== 'options' && !one.route.redirect && access.offers(one))
}

function someOf(names: readonly string[]): Part {
  if (names.length === 0) return { type: 'array', items: { type: 'string' }, maxItems: 0 }
  return { type: 'array', uniqueItems: true, items: { type: 'string', enum: [...names] } }
}
