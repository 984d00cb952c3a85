/** Finds climbs that may meet so many objects that a decision fails: those through lists, whose members fill them. */
import { isObject } from '../../../base/is-object.ts'
import { comparedFields, stepOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import type { Resource } from '../../../resources/resource.ts'
import { MOST_CLIMBED } from '../../../store/lists/read-bounds.ts'
import { type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'

export const wideClimbs: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'wide-climb',
      meaning:
        'A relation climbs (`depth`) through a list, and the list may have so many members that one climb meets more ' +
        `than ${MOST_CLIMBED.toLocaleString('en')} objects: a decision that meets more fails with 503, and long lists take long`,
      mend: 'Climb through a field with one id; or write a smaller `depth`, or a smaller `maxItems` into the schema file',
    },
  ],
  find: ({ policy, resources, placeOfKey }) =>
    [...policy.ownership].flatMap(([name, { relations }]) =>
      [...relations].flatMap(([relation, form]) => {
        const wide = wideField(form, resources.byName.get(name))
        if (wide === undefined) return []
        const place = placeOfKey('ownership.yaml', [name, 'relations', relation])
        const message = `\`${relation}\` of \`${name}\` climbs through the list \`${wide}\`, and may meet more than ${MOST_CLIMBED} objects`
        const hint = 'climb through a field with one id, or write a smaller `depth` or `maxItems`'
        return [warning(place, 'wide-climb', message, hint)]
      }),
    ),
}

/** The list that a wide climb goes through. */
function wideField(relation: Relation, resource: Resource | undefined): string | undefined {
  const depth = stepOf(relation)?.depth
  const [field] = comparedFields(relation)
  if (depth === undefined || field === undefined || !resource?.fields.get(field)?.list) return undefined
  const members = mostMembers(resource, field)
  const met = Array.from({ length: depth }, (_, step) => members ** (step + 1)).reduce((sum, one) => sum + one, 0)
  return met > MOST_CLIMBED ? field : undefined
}

function mostMembers({ schema }: Resource, field: string): number {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const written = properties[field]
  const most = isObject(written) ? written.maxItems : undefined
  return typeof most === 'number' ? most : Number.POSITIVE_INFINITY
}
