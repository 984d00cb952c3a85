/**
 * The requests that two policies could answer differently on a resource: each path and method, each set of relations to
 * the object, each caller alone and each pair of roles (src/tools/diff/decisions/compare-callers.ts says why that is
 * enough), and bodies that each change one field.
 */

import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { Policy } from '../../../decide/policy.ts'
import { valuesWhoeverAsks } from '../../../decide/relations/all-kinds.ts'
import { ownerFieldOf } from '../../../decide/relations/ownership.ts'
import type { Json, Resource, Resources } from '../../../resources/resource.ts'
import type { SamplesOf } from '../arrange/values/samples.ts'
import { columnKinds } from '../cells/columns.ts'
import { type AskedRow, rowsOf } from '../cells/rows.ts'
import { statesResults } from '../cells/telling-writes.ts'
import type { Cell } from '../predict/arrange-world.ts'
import type { MatrixColumn } from '../read/expectation.ts'

type Body = Readonly<Record<string, Json>>

/** How many values are tried for each field, because the stored value may be one of them. */
const VALUES = 6

/** Lazily, simple requests first; `covers` selects the resources. */
export function* probesOf(
  policies: readonly [Policy, ...Policy[]],
  { resources, samples }: { readonly resources: Resources; readonly samples: SamplesOf },
  covers: (resource: string) => boolean,
): Generator<Cell> {
  const rows = rowsOf(policies, { resources, samples }).filter(({ routeMethod }) => covers(routeMethod.resource.name))
  const [policy] = policies
  const { usual, nobody, pairs, users } = columnKinds(policies)
  const columns = [...usual, nobody, ...pairs, ...users]
  for (const row of rows) yield* cellsOf(row, columns, [undefined])
  for (const row of rows.filter(({ becomes }) => !becomes)) {
    yield* cellsOf(row, columns, bodiesFor(row.routeMethod, samples, policy))
  }
}

function* cellsOf(
  { routeMethod, methods, object, when, becomes }: AskedRow,
  columns: readonly MatrixColumn[],
  bodies: readonly (Body | undefined)[],
) {
  const [method] = methods
  if (!method) return
  const situation = { object, ...(when && { when }), ...(becomes && { becomes }) }
  for (const content of bodies) {
    for (const column of columns) {
      yield {
        method,
        path: routeMethod.route.path,
        ...situation,
        column,
        ...(content === undefined ? {} : { content }),
      }
    }
  }
}

/** The smallest body with one field added or changed; for PATCH, only this field. */
function bodiesFor(routeMethod: RouteMethod, samples: SamplesOf, policy: Policy): readonly Body[] {
  const { endpoint, resource } = routeMethod
  const { ownership } = policy
  const known = samples.get(resource.name)
  if (!known || !['create', 'replace', 'update'].includes(endpoint.operation)) return []
  const owner = ownerFieldOf(resource, ownership.get(resource.name))?.name
  const smallest = Object.fromEntries(Object.entries(known.smallest).filter(([name]) => name !== owner))
  // A PUT may also name a single field: fields that the caller can't write keep their value.
  const isDecidedByState = endpoint.operation === 'create' || statesResults([policy], routeMethod)
  const states = isDecidedByState ? statesIn(resource, ownership) : []
  const around =
    endpoint.operation === 'update'
      ? [{}, ...states]
      : [{}, smallest, ...states.map((one) => ({ ...smallest, ...one }))]
  const fields = [...known.values].filter(([field]) => !resource.fields.get(field)?.readOnly)
  return fields.flatMap(([field, values]) =>
    values.slice(0, VALUES).flatMap((value) => around.map((body) => ({ ...body, [field]: value }))),
  )
}

/** The body sets the state that the write leaves; each body sets one field. */
function statesIn({ name, fields }: Resource, ownership: Policy['ownership']): readonly Body[] {
  const relations = [...(ownership.get(name)?.relations.values() ?? [])]
  return relations.flatMap((relation) => {
    const accepted = valuesWhoeverAsks(relation)
    const field = accepted && fields.get(accepted.field)
    if (!field || field.readOnly) return []
    const values = accepted.telling.filter(accepted.accepts)
    return values.map((value) => ({ [field.name]: field.list ? [value] : value }))
  })
}
