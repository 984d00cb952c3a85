/** roles.yaml, ownership.yaml and views.yaml -> the names that rules may use. */
import type { Diagnostic } from '../../base/diagnostic.ts'
import { oneOf } from '../../base/did-you-mean.ts'
import type { SourceFile } from '../../base/source-file.ts'
import { parseYaml, shapeBy, type YamlFile } from '../../base/yaml-file.ts'
import type { Ownership, Relation, Role, Views } from '../../decide/policy.ts'
import type { Scalar } from '../../resources/object.ts'
import type { Field, FieldType, Resource, Resources } from '../../resources/resource.ts'
import { ownership, roles, views } from '../compiled-schemas.ts'

type Report = (diagnostic: Diagnostic) => void

type RolesFile = Readonly<
  Record<string, { readonly description: string; readonly privileged?: boolean; readonly claims?: readonly string[] }>
>
type RelationText =
  | string
  | { readonly field: string; readonly equals: string }
  | { readonly field: string; readonly in: readonly Scalar[] }
type OwnershipFile = Readonly<
  Record<string, { readonly conceal?: boolean; readonly relations: Readonly<Record<string, RelationText>> }>
>
type ViewsFile = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

const rolesShape = shapeBy<RolesFile>(roles)
const ownershipShape = shapeBy<OwnershipFile>(ownership)
const viewsShape = shapeBy<ViewsFile>(views)

export function parseRoles(source: SourceFile, report: Report): ReadonlyMap<string, Role> {
  const file = parseYaml(source, rolesShape, report)
  return new Map(
    Object.entries(file?.value ?? {}).map(([name, { description, privileged = false, claims = [] }]) => [
      name,
      { name, description, privileged, claims },
    ]),
  )
}

export function parseOwnership(
  source: SourceFile,
  resources: Resources,
  report: Report,
): ReadonlyMap<string, Ownership> {
  const file = parseYaml(source, ownershipShape, report)
  const parsed = new Map<string, Ownership>()
  if (!file) return parsed
  for (const [name, { relations, conceal = false }] of Object.entries(file.value)) {
    const resource = declared(name, resources, file, report)
    if (!resource) continue
    const entries = Object.entries(relations).flatMap(([relation, text]) =>
      parseRelation(relation, text, resource, (path, code, message, hint) =>
        report(file.fault([name, 'relations', relation, ...path], code, message, hint)),
      ),
    )
    parsed.set(name, { conceal, relations: new Map(entries.map((relation) => [relation.name, relation])) })
  }
  return parsed
}

export function parseViews(source: SourceFile, resources: Resources, report: Report): ReadonlyMap<string, Views> {
  const file = parseYaml(source, viewsShape, report)
  const parsed = new Map<string, Views>()
  if (!file) return parsed
  for (const [name, views] of Object.entries(file.value)) {
    const resource = declared(name, resources, file, report)
    if (!resource) continue
    for (const [view, fields] of Object.entries(views)) {
      for (const [i, field] of fields.entries()) {
        if (resource.fields.has(field)) continue
        report(
          file.fault(
            [name, view, i],
            'unknown-field',
            `\`${name}\` has no field \`${field}\``,
            oneOf(field, resource.fields.keys()),
          ),
        )
      }
    }
    parsed.set(name, new Map(Object.entries(views).map(([view, fields]) => [view, new Set(fields)])))
  }
  reportMissingRouteViews(source, parsed, resources, report)
  return parsed
}

/** A schema's route that names a view needs it here, or it would show nothing that anyone meant. */
function reportMissingRouteViews(
  { name: file }: SourceFile,
  views: ReadonlyMap<string, Views>,
  { routes }: Resources,
  report: Report,
): void {
  for (const { resource, view, path } of routes) {
    if (view === undefined || views.get(resource)?.has(view)) continue
    const message = `the route \`${path}\` of the schema \`${resource}\` names the view \`${view}\`, which isn't declared`
    const hint = `add \`${view}: [...]\` under \`${resource}:\``
    report({ file, line: 1, column: 1, code: 'unknown-view', severity: 'error', message, hint })
  }
}

function declared<T>(name: string, { byName }: Resources, file: YamlFile<T>, report: Report): Resource | undefined {
  const resource = byName.get(name)
  if (resource) return resource
  const message = `no schema declares the resource \`${name}\``
  report(file.fault([name], 'unknown-resource', message, oneOf(name, byName.keys())))
  return undefined
}

type RelationFault = (path: readonly (string | number)[], code: string, message: string, hint?: string) => void

function parseRelation(name: string, text: RelationText, resource: Resource, fault: RelationFault): Relation[] {
  const fieldName = typeof text === 'string' ? text : text.field
  const field = resource.fields.get(fieldName)
  if (!field) {
    fault(
      [],
      'unknown-field',
      `\`${resource.name}\` has no field \`${fieldName}\``,
      oneOf(fieldName, resource.fields.keys()),
    )
    return []
  }
  if (field.type === 'other') {
    fault(
      [],
      'incomparable-field',
      `the field \`${fieldName}\` can't be compared`,
      'its schema type must be string, number, integer or boolean, or a list of these',
    )
    return []
  }
  if (typeof text === 'string') return [{ kind: 'caller', name, field: fieldName, attribute: 'id' }]
  if ('equals' in text) {
    return [{ kind: 'caller', name, field: fieldName, attribute: text.equals.slice('subject.'.length) }]
  }
  const sound = text.in.map((value, i) =>
    fitsField(value, field, resource, (message) => fault(['in', i], 'constant-type', message)),
  )
  return sound.every(Boolean) ? [{ kind: 'state', name, field: fieldName, values: text.in }] : []
}

/** A constant that no object can have would make a relation that never holds, and a deny by it that denies nothing. */
function fitsField(value: Scalar, field: Field, resource: Resource, fault: (message: string) => void): boolean {
  const never = `\`${value}\` can never be the value of \`${field.name}\``
  if (!fitsType(value, field)) {
    fault(`${never}, whose type is ${field.type}`)
    return false
  }
  const place = field.list ? `/${field.name}/` : `/${field.name}`
  const faults = resource.validate({ [field.name]: field.list ? [value] : value })
  const first = faults.find(({ pointer }) => (field.list ? pointer.startsWith(place) : pointer === place))
  if (first) fault(`${never}, which ${first.detail}`)
  return first === undefined
}

function fitsType(value: Scalar, { type }: Field): boolean {
  const accepts: Readonly<Record<FieldType, boolean>> = {
    string: typeof value === 'string',
    integer: Number.isInteger(value),
    number: typeof value === 'number',
    boolean: typeof value === 'boolean',
    other: false,
  }
  return accepts[type]
}
