/** Checks `x-reference`: its form, and, with all files at hand, the resource that it names, and the paths that use it. */
import type { Diagnostic } from '../../base/diagnostic.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import { isObject } from '../../base/is-object.ts'
import { declaredField } from '../load/make-fields.ts'
import { declaredRoutes, isExternal, operationOf, type RouteDeclaration, routeKind } from '../load/make-routes.ts'
import type { Json } from '../resource.ts'
import { beforeParameter, parentFieldOf } from '../routing/path-parameter.ts'
import type { JsonObject, SchemaFile } from '../schema/schema-file.ts'
import { fieldSchemas } from '../schema/subschemas.ts'
import { pathFault, routePath } from './routes.ts'

const MEMBERS: ReadonlySet<string> = new Set(['resource', 'onDelete'])
const ON_DELETE: ReadonlySet<unknown> = new Set([undefined, 'restrict', 'null', 'cascade'])
/** The server makes them. */
const NEVER: ReadonlySet<string> = new Set(['id', 'createdAt', 'updatedAt'])

/** The form of each. */
export function checkReferenceForms(file: SchemaFile): readonly Diagnostic[] {
  return declaredReferences(file).flatMap(({ name, declared, json }) => {
    const path = ['properties', name, 'x-reference']
    const fault = formFault(declared)
    if (fault !== undefined) return [file.fault(path, 'reference-invalid', fault)]
    const { type, list } = declaredField(json, name)
    if (type === 'string' && !list && !NEVER.has(name)) return []
    return [
      file.faultAtKey(path, 'reference-invalid', `\`${name}\` holds no id that a client gives: it must be a text`),
    ]
  })
}

function formFault(declared: Json): string | undefined {
  if (!isObject(declared) || typeof declared.resource !== 'string') return '`x-reference` must name a `resource`'
  const other = Object.keys(declared).find((name) => !MEMBERS.has(name))
  if (other !== undefined) return `\`${other}\` has no effect in \`x-reference\`${didYouMean(other, MEMBERS)}`
  return ON_DELETE.has(declared.onDelete) ? undefined : '`onDelete` must be `restrict`, `null` or `cascade`'
}

/** `files` must have passed the checks of one file. */
export function checkReferredResources(files: readonly SchemaFile[]): readonly Diagnostic[] {
  const stored = new Map(files.filter((file) => !isExternal(file)).map((file) => [file.resource, file]))
  return files.flatMap((file) =>
    declaredReferences(file).flatMap(({ name, declared, json }) => {
      if (formFault(declared) !== undefined || !isObject(declared)) return []
      const { resource, onDelete } = declared
      const at = (member: string) => ['properties', name, 'x-reference', member]
      if (!stored.has(String(resource))) {
        const meant = didYouMean(String(resource), stored.keys())
        return [file.fault(at('resource'), 'reference-unknown', `no resource \`${resource}\` is stored here${meant}`)]
      }
      if (onDelete === 'null' && needsValue(json, name)) {
        const message = `\`${name}\` must have a value, so a delete can't take it away`
        return [file.fault(at('onDelete'), 'reference-null', message)]
      }
      if (onDelete === 'cascade' && !deletesObjects(file)) {
        const message = `\`${file.resource}\` has no route that deletes an object, so a delete can't cascade to it`
        return [file.fault(at('onDelete'), 'reference-cascade', message)]
      }
      return []
    }),
  )
}

function needsValue(json: JsonObject, name: string): boolean {
  const isRequired = Array.isArray(json.required) && json.required.includes(name)
  return isRequired && declaredField(json, name).reference?.nullable !== true
}

function deletesObjects(file: SchemaFile): boolean {
  return declaredRoutes(file).some((route) => {
    const isPlain = route.moved === undefined && route.found === undefined
    return isPlain && routeKind(route) === 'item' && route.methods.some((one) => operationOf('item', one) === 'delete')
  })
}

interface DeclaredPath {
  readonly path: string
  readonly resource: string
}

/** A path's parameter other than `{id}` is a reference to the objects that the path up to it names. */
export function checkParents(files: readonly SchemaFile[]): readonly Diagnostic[] {
  const all = files.flatMap((file) => declaredRoutes(file).map(({ path }) => ({ path, resource: file.resource })))
  return files.flatMap((file) =>
    declaredRoutes(file).flatMap((route, i) => {
      const fault = parentFault(file, route, all)
      return fault === undefined ? [] : [file.fault([...routePath(i), 'path'], 'route-parent', fault)]
    }),
  )
}

function parentFault(
  file: SchemaFile,
  { path, methods }: RouteDeclaration,
  all: readonly DeclaredPath[],
): string | undefined {
  const field = parentFieldOf(path)
  if (field === undefined || pathFault(path) !== undefined) return undefined
  const references = declaredReferences(file)
  const { declared, json } = references.find(({ name }) => name === field) ?? {}
  if (!json || !isObject(declared)) {
    const meant = didYouMean(
      field,
      references.map(({ name }) => name),
    )
    return `\`{${field}}\` is neither \`{id}\` nor a field of this file with \`x-reference\`${meant}`
  }
  if (methods.includes('POST') && declaredField(json, field).readOnly)
    return `\`${field}\` is \`readOnly\`, so no POST can give it`
  const { resource } = declared
  const item = `${beforeParameter(path)}{id}`
  const named = all.filter((one) => one.path === item)
  if (named.length === 0 || named.some((one) => one.resource === resource)) return undefined
  return `\`${item}\` is an object of \`${named[0]?.resource}\`, but \`${field}\` refers to \`${resource}\``
}

interface DeclaredReference {
  readonly name: string
  readonly declared: Json
  readonly json: JsonObject
}

function declaredReferences({ json }: SchemaFile): readonly DeclaredReference[] {
  if (!isObject(json)) return []
  return Object.entries(fieldSchemas(json)).flatMap(([name, schema]) =>
    isObject(schema) && schema['x-reference'] !== undefined
      ? [{ name, declared: schema['x-reference'] as Json, json }]
      : [],
  )
}
