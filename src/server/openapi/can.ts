/** The member `can` of objects and lists (`?can=true`): the actions and the fields that it may name. */
import { type RouteMethod, routeMethodsOf } from '../../decide/callers-and-routes.ts'
import type { Operation, Resource } from '../../resources/resource.ts'
import type { Access } from './access.ts'
import type { Describing } from './parameters.ts'
import type { Part } from './part.ts'

const OF_AN_OBJECT =
  'With `can=true`: the actions that the caller may do on this object, and the fields that the caller may write to it.'

const OF_A_LIST =
  'With `can=true`: the actions of the collection that the caller may do, and the fields of a new object.'

/** The member of an object. */
export function canOfObject(resource: Resource, describing: Describing): Part {
  return member(resource, describing, {
    name: 'Can',
    description: OF_AN_OBJECT,
    isIn: ({ route }) => route.kind !== 'collection',
    writing: ['update', 'replace'],
  })
}

/** The member of a list. */
export function canOfList(resource: Resource, describing: Describing): Part {
  return member(resource, describing, {
    name: 'ListCan',
    description: OF_A_LIST,
    isIn: ({ route }) => route.kind === 'collection',
    writing: ['create'],
  })
}

interface About {
  readonly name: string
  readonly description: string
  readonly isIn: (routeMethod: RouteMethod) => boolean
  readonly writing: readonly Operation[]
}

function member(resource: Resource, { access, components, schemas }: Describing, about: About): Part {
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
