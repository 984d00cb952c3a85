/** Fields that can hold a value of any size, so that only `object` of limits.yaml bounds them. */
import { unboundedFields } from '../../../resources/schema/bounds.ts'
import type { CheckedPolicy } from '../checked.ts'
import { type Check, warning } from '../finding.ts'

export const unboundedObjects: Check<CheckedPolicy> = {
  codes: [
    {
      code: 'unbounded-field',
      meaning:
        'A schema has fields without a bound (text without `maxLength`, a list without `maxItems`, an object with free members), so that only `object` of `limits.yaml`, where the finding stands, limits what one object may take',
      mend: 'Write the missing keywords into the schema file; if large values are meant, suppress the warning and say so',
    },
  ],
  find: ({ resources, placeOfKey }) =>
    [...resources.byName.values()]
      .filter(({ builtIn }) => !builtIn)
      .flatMap((resource) => {
        const fields = unboundedFields(resource).map(
          ({ field, lacks }) => `\`${field}\` (${lacks.map(quoted).join(', ')})`,
        )
        if (fields.length === 0) return []
        const message = `nothing but \`object\` bounds these fields of \`${resource.name}\`, each with what it lacks: ${fields.join(', ')}`
        return [
          warning(placeOfKey('limits.yaml', ['object']), 'unbounded-field', message, 'bound them in the schema file'),
        ]
      }),
}

function quoted(keyword: string): string {
  return `\`${keyword}\``
}
