/** Parses roles.yaml and views.yaml: the names that rules may use. parse-ownership.ts has the relations. */

import { roles, views } from '#compiled/policy-files'
import type { Reporter, SourceFile } from '../../base/diagnostic.ts'
import { oneOf } from '../../base/did-you-mean.ts'
import { parseYaml, shapeBy, type YamlFile } from '../../base/yaml-file.ts'
import type { Role, Views } from '../../decide/policy.ts'
import type { Resource, Resources } from '../../resources/resource.ts'

type RolesFile = Readonly<
  Record<string, { readonly description: string; readonly privileged?: boolean; readonly claims?: readonly string[] }>
>
type ViewsFile = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>

const rolesShape = shapeBy<RolesFile>(roles)
const viewsShape = shapeBy<ViewsFile>(views)

export function parseRoles(source: SourceFile, report: Reporter): ReadonlyMap<string, Role> {
  const file = parseYaml(source, rolesShape, report)
  return new Map(
    Object.entries(file?.value ?? {}).map(([name, { description, privileged = false, claims = [] }]) => [
      name,
      { name, description, privileged, claims },
    ]),
  )
}

export function parseViews(source: SourceFile, resources: Resources, report: Reporter): ReadonlyMap<string, Views> {
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

/** A view that a schema's route names must be declared here; otherwise it isn't known which fields the route shows. */
function reportMissingRouteViews(
  { name: file }: SourceFile,
  views: ReadonlyMap<string, Views>,
  { routes }: Resources,
  report: Reporter,
): void {
  for (const { resource, view, path } of routes) {
    if (view === undefined || views.get(resource)?.has(view)) continue
    const route = `the route \`${path}\` of the schema \`${resource}\``
    const message = `${route} names the view \`${view}\`, which isn't declared`
    const hint = `add \`${view}: [...]\` under \`${resource}:\``
    report({ file, line: 1, column: 1, code: 'unknown-view', severity: 'error', message, hint })
  }
}

export function declared<T>(
  name: string,
  { byName }: Resources,
  file: YamlFile<T>,
  report: Reporter,
): Resource | undefined {
  const resource = byName.get(name)
  if (resource) return resource
  const message = `no schema declares the resource \`${name}\``
  report(file.fault([name], 'unknown-resource', message, oneOf(name, byName.keys())))
  return undefined
}
