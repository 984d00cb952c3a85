/** Rows that send other bodies than the smallest: what a view lets somebody write shows only there. */

import { coversResource } from '../../../decide/grants/evaluate.ts'
import type { Policy } from '../../../decide/policy.ts'
import type { Spot } from '../../../decide/space.ts'
import type { Json } from '../../../resources/resource.ts'
import type { Row } from '../cells/rows.ts'
import type { Bench } from '../predict/bench.ts'
import { namesCaller } from '../predict/samples.ts'

export interface BodyRow extends Row {
  /** Absent for the smallest body; `file` is one of bodies/. */
  readonly body?: { readonly file: string; readonly content: Readonly<Record<string, Json>> }
  /** Sent without `If-Match` to a route that requires it. */
  readonly unconditional?: true
}

/** One for each view that rules about writing here name. A unique field would clash with the next cell's. */
export function bodyRows({ grants, samples }: Bench, row: Row): readonly BodyRow[] {
  const { endpoint, resource } = row.spot
  if (!['create', 'replace', 'update'].includes(endpoint.operation) || row.object.kind === 'missing') return []
  const values = samples.get(resource.name)?.values
  return viewsWritten(grants.policy, row.spot).flatMap((view) => {
    const fields = grants.policy.views.get(resource.name)?.get(view) ?? new Set()
    const written = [...fields].filter(
      (name) => !resource.fields.get(name)?.readOnly && !resource.fields.get(name)?.unique,
    )
    const given = written.flatMap((name) => {
      // What is stored has the second value, or one that a relation wants.
      const known = values?.get(name)?.filter((one) => !namesCaller(one))
      const value = known?.[2] ?? known?.[0]
      return value === undefined ? [] : [[name, value] as const]
    })
    const file = `${resource.name}-${view}.json`
    return given.length === 0 ? [] : [{ ...row, body: { file, content: Object.fromEntries(given) } }]
  })
}

function viewsWritten({ rules, views }: Policy, { resource, action }: Spot): readonly string[] {
  const about = rules.filter(
    (rule) => coversResource(rule, resource) && (rule.actions.includes('*') || rule.actions.includes(action.name)),
  )
  const named = new Set(about.flatMap((rule) => rule.views))
  return [...(views.get(resource.name)?.keys() ?? [])].filter((view) => named.has(view)).sort()
}
