/** `x-history` of a schema file: the route that shows former versions of an object, and how long they are kept. */
import ms, { type StringValue } from 'ms'
import type { Diagnostic } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import type { Resource, Route } from '../resource.ts'
import type { SchemaFile } from '../schema/schema-file.ts'
import { canonicalItemPath, isExternal, makeEndpoints, makeRoutes, type RouteDeclaration } from './make-routes.ts'

const KEY = 'x-history'

/** A longer time is no bound. */
const KEEP = /^[1-9]\d{0,2}[hdy]$/

/** `x-resource` must have passed its checks. */
export function checkHistory(file: SchemaFile): readonly Diagnostic[] {
  const { json } = file
  if (!isObject(json) || json[KEY] === undefined) return []
  const declared = json[KEY]
  const fault = (message: string, path: readonly string[] = []) => [
    file.fault([KEY, ...path], 'history-invalid', message),
  ]
  if (!isObject(declared)) return fault(`\`${KEY}\` must be an object`)
  const other = Object.keys(declared).find((name) => name !== 'keep')
  if (other !== undefined)
    return [file.faultAtKey([KEY, other], 'history-invalid', `\`${KEY}\` has no member \`${other}\``)]
  const { keep } = declared
  if (typeof keep !== 'string' || !KEEP.test(keep))
    return fault('`keep` must be a number of hours, days or years such as 90d or 2y', ['keep'])
  if (isExternal(file)) return fault('the objects are kept elsewhere, so they have no history')
  if (historyRouteOf(file)) return []
  return fault('no path shows one object: it needs a route with `{id}` and GET, without `action` and `view`')
}

/** As if the file declared it; undefined for a file that keeps no history, or has no path of its objects. */
export function historyRouteOf(file: SchemaFile): RouteDeclaration | undefined {
  const item = isObject(file.json) && file.json[KEY] !== undefined && shownAt(file)
  return item ? { path: `${item}/history`, methods: ['GET'], action: 'history' } : undefined
}

function shownAt(file: SchemaFile): string | undefined {
  const shown = makeRoutes(file, []).filter(({ endpoints }) => endpoints.has('GET'))
  return canonicalItemPath(shown)
}

/** The file must have passed the checks. */
export function makeHistory(file: SchemaFile): { readonly routes: readonly Route[] } & Pick<Resource, 'changes'> {
  const declared = historyRouteOf(file)
  if (!declared) return { routes: [] }
  const { keep } = (file.json as { readonly [KEY]: { readonly keep: string } })[KEY]
  const kept = Object.freeze({ keepMs: ms(keep as StringValue) })
  const route: Route = Object.freeze({
    path: declared.path,
    resource: file.resource,
    kind: 'item',
    ...makeEndpoints(new Map([['GET', 'read']]), (operation) => (operation === 'options' ? operation : 'history')),
    history: kept,
  })
  return { routes: [route], changes: kept }
}
