/** What an OpenAPI document offers, by the names that a client gives it: lists, objects, their parts and their children. */
import { EVENT_STREAM } from '../../server/answers/event-stream.ts'

interface OfferedSchema {
  readonly $ref?: string
}

interface OfferedParameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
}

type OfferedContent = Readonly<Record<string, { readonly schema?: OfferedSchema }>>

export interface OfferedOperation {
  readonly operationId?: string
  readonly summary?: string
  readonly deprecated?: boolean
  readonly tags?: readonly string[]
  readonly parameters?: readonly OfferedParameter[]
  readonly requestBody?: { readonly content: OfferedContent }
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: OfferedContent }>>
}

export type OfferedOperations = { readonly [Method in (typeof METHODS)[number]]?: OfferedOperation }

export interface OpenApi {
  readonly openapi: string
  readonly info: unknown
  readonly paths: Readonly<Record<string, OfferedOperations>>
  readonly components: {
    readonly schemas: Readonly<Record<string, OfferedSchema>>
    readonly parameters?: Readonly<Record<string, OfferedParameter>>
  }
}

export const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

/** A path, and what can be done there. */
export interface ClientRoute {
  readonly path: string
  /** `single` is the one object that its path alone names; a command and a history are of an object, by its id. */
  readonly kind: 'list' | 'events' | 'object' | 'single' | 'command' | 'history'
  readonly operations: OfferedOperations
}

/** What stands under one name of a client. */
export interface ClientGroup {
  readonly routes: readonly ClientRoute[]
  /** `balance` of `/accounts/{id}/balance`, and `tasks` of `/projects/{projectId}/tasks`. */
  readonly parts: ReadonlyMap<string, ClientRoute>
}

export interface ClientGroups {
  readonly groups: ReadonlyMap<string, ClientGroup>
  /** Paths whose names are taken. */
  readonly leftOut: readonly string[]
}

/** What a group can do has these names. */
const TAKEN: ReadonlySet<string> = new Set([
  ...['list', 'page', 'aggregate', 'create'],
  ...['get', 'update', 'replace', 'delete', 'byId'],
])

/** Of `/a/b/{id}/c`: `/a/b`, and `c`. */
const FORM = /^((?:\/[^/{}]+)*)(?:\/\{\w+\})?(?:\/([^{}]+))?$/

/** Of `/a/b/c`, which has the events of `/a/b`. */
const FORM_OF_EVENTS = /^(.*)\/([^/]+)$/

export function groupsOf({ paths }: Pick<OpenApi, 'paths'>): ClientGroups {
  const routes = Object.entries(paths).map(([path, operations]): ClientRoute => {
    return { path, kind: kindOf(path, operations), operations }
  })
  const byBase = Map.groupBy(routes, (route) => formOf(route)[1] ?? route.path)
  const groups = new Map<string, ClientGroup>()
  const leftOut: string[] = []
  for (const [name, base] of namesOf(byBase)) {
    const all = byBase.get(base) ?? []
    if (groups.has(name)) leftOut.push(...all.map(({ path }) => path))
    else groups.set(name, groupOf(all, leftOut))
  }
  return { groups, leftOut }
}

export function hasEvents({ groups }: ClientGroups): boolean {
  return groups.values().some(({ parts }) => parts.values().some(({ kind }) => kind === 'events'))
}

function kindOf(path: string, { get, post }: OfferedOperations): ClientRoute['kind'] {
  if (post && isCommand(path, post)) return 'command'
  if (schemaOf(get?.responses['200']?.content, EVENT_STREAM)) return 'events'
  // A list that looks at a time would count its objects, too.
  const names = new Set(get?.parameters?.map(({ name }) => name))
  if (names.has('at') && !names.has('count')) return 'history'
  if (post || get?.parameters?.some(({ name }) => name === 'cursor')) return 'list'
  return path.includes('{') ? 'object' : 'single'
}

/** A POST to an object that creates none at this path. */
function isCommand(path: string, { responses, tags = [] }: OfferedOperation): boolean {
  return path.includes('{') && responses['201'] === undefined && !tags.some((tag) => tag.startsWith('system/'))
}

export function schemaOf(content: OfferedContent | undefined, type = 'application/json'): OfferedSchema | undefined {
  return content?.[type]?.schema
}

/** The best place of each resource has the resource's name; the others have the names of their paths. */
function namesOf(byBase: ReadonlyMap<string, readonly ClientRoute[]>): readonly [string, string][] {
  const own = [...byBase].filter(([, routes]) => routes.some((route) => !isPart(route)))
  const byResource = Map.groupBy(own, ([, routes]) => resourceOf(routes))
  const first = [...byResource].map(([resource, places]): [string, string] => {
    const [base = ''] = places.toSorted(([, a], [, b]) => rankOf(b) - rankOf(a)).at(0) ?? []
    return [inCamelCase(resource), base]
  })
  const named = new Set(first.map(([, base]) => base))
  const others = [...byBase.keys()].filter((base) => !named.has(base))
  return [...first, ...others.map((base): [string, string] => [inCamelCase(base), base])]
}

/** The path of the group, and the name of the part; of an object of the group itself, the second is absent. */
function formOf({ path, kind }: ClientRoute): readonly (string | undefined)[] {
  return (kind === 'events' ? FORM_OF_EVENTS : FORM).exec(path) ?? []
}

function isPart(route: ClientRoute): boolean {
  return formOf(route)[2] !== undefined
}

function resourceOf(routes: readonly ClientRoute[]): string {
  const route = routes.find((one) => !isPart(one))
  return Object.values(route?.operations ?? {})[0]?.tags?.[0] ?? ''
}

/** A place for lists and objects that won't end soon. */
function rankOf(routes: readonly ClientRoute[]): number {
  const kinds = new Set(routes.map(({ kind }) => kind))
  const ends = routes.some(({ operations }) => Object.values(operations).some(({ deprecated }) => deprecated === true))
  return (ends ? 0 : 4) + (kinds.has('list') ? 2 : 0) + (kinds.has('object') ? 1 : 0)
}

function groupOf(all: readonly ClientRoute[], leftOut: string[]): ClientGroup {
  const parts = new Map<string, ClientRoute>()
  for (const route of all.filter(isPart)) {
    const name = inCamelCase(formOf(route)[2] ?? '')
    if (TAKEN.has(name) || parts.has(name)) leftOut.push(route.path)
    else parts.set(name, route)
  }
  return { routes: all.filter((route) => !isPart(route)), parts }
}

/** `/api/order-items` is `apiOrderItems`. */
function inCamelCase(text: string): string {
  const words = text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
  return words.map((word, i) => (i === 0 ? word : `${word[0]?.toUpperCase()}${word.slice(1)}`)).join('') || 'root'
}
