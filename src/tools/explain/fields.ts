/** Field level: which fields an answer shows, and which a body may write. */
import { queryableFields } from '../../decide/grants/queryable.ts'
import type { FieldReport } from './explanation.ts'
import { type Ground, pageRules } from './ground.ts'

/** `granted` is what the action grants, `readable` what `read` grants: answers to writes show the latter. */
export function reportFields(ground: Ground, granted: ReadonlySet<string>, readable: ReadonlySet<string>): FieldReport {
  const { operation } = ground.endpoint
  const isWrite = operation === 'create' || operation === 'replace' || operation === 'update'
  const fields = [...ground.resource.fields.values()]
  const own = fields.filter(({ readOnly }) => !readOnly).map(({ name }) => name)
  const shows = isWrite ? readable : granted
  const shown = shownFields(ground, shows)
  const names = fields.map(({ name }) => name)
  return {
    shown,
    notShown: names.filter((name) => !shows.has(name)),
    cut: names.filter((name) => shows.has(name) && !shown.includes(name)),
    writable: isWrite ? own.filter((name) => granted.has(name)) : null,
    notWritable: isWrite ? own.filter((name) => !granted.has(name)) : [],
    server: isWrite ? fields.filter(({ readOnly }) => readOnly).map(({ name }) => name) : [],
    queryable: operation === 'list' ? queryable(ground) : null,
  }
}

function queryable(ground: Ground): readonly string[] {
  const { policy, resource } = ground
  return shownFields(ground, new Set(queryableFields(policy, resource, pageRules(ground, ground.action))))
}

/** Cut to the view of the path, in the schema's order. */
export function shownFields({ route, policy, resource }: Ground, granted: ReadonlySet<string>): readonly string[] {
  const view = route.view === undefined ? undefined : policy.views.get(resource.name)?.get(route.view)
  return [...resource.fields.keys()].filter((name) => granted.has(name) && (view === undefined || view.has(name)))
}
