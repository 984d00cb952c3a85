/** Finds schemas that reveal or accept too much: rules that compare a field with a hidden one, fields of any size. */

import { NOWHERE, whereNamed } from '../../../analysis/regions.ts'
import type { Diagnostic } from '../../../base/diagnostic.ts'
import { namesText } from '../../../present/quote.ts'
import type { Operation, Resource } from '../../../resources/resource.ts'
import { unboundedFields } from '../../../resources/schema/bounds.ts'
import { type CrossFieldRule, crossFieldRulesIn } from '../../../resources/schema/comparisons.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import { CELL, type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'
import { judgeWriters, pairsOf, type WritePair } from '../reach/writers.ts'

const CHANGES: readonly Operation[] = ['replace', 'update']

export const schemaTells: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'schema-tells',
      meaning:
        'A rule at the root of the schema (`if`, `dependentRequired`, `oneOf`, `maxProperties` and others) is about ' +
        'several fields, and somebody may write one of them but not read another: a write that gets 400 reveals the ' +
        'value of the other field',
      mend: 'Let those who write one field read the others, or remove the rule from the schema',
    },
  ],
  find: (checked) =>
    storedResources(checked.resources).flatMap((resource) =>
      crossFieldRulesIn(resource).flatMap((comparison) => findingsOf(resource, comparison, checked)),
    ),
}

/** The first writer who learns something from the comparison. */
function findingsOf(resource: Resource, comparison: CrossFieldRule, checked: CheckedPolicy): readonly Diagnostic[] {
  const told = pairsOf(resource, checked.index, CHANGES).flatMap((pair) => toldTo(pair, comparison, checked))
  return told.slice(0, 1).map(({ subject, line, found: { action, writes, hidden } }) => {
    const may = `\`${subject}\` may ${action} ${namesText(writes)} of \`${resource.name}\``
    const compared = `\`${comparison.keyword}\` of the schema compares them, so answers reveal stored values`
    const message = `${may} but not read ${namesText(hidden)}; ${compared}`
    const hint = 'let the subject read these fields, or remove the rule from the schema'
    return warning(checked.placeOfLine(line, CELL.fields), 'schema-tells', message, hint)
  })
}

interface HiddenWrite {
  readonly action: string
  readonly writes: readonly string[]
  readonly hidden: readonly string[]
}

function toldTo(
  pair: WritePair,
  { fields }: CrossFieldRule,
  checked: CheckedPolicy,
): ReturnType<typeof judgeWriters<HiddenWrite>> {
  const { write, read } = pair
  const { space } = write
  const { regions } = space
  const compared = [...write.resource.fields.values()].flatMap(({ name, readOnly }, bit) =>
    fields.has(name) ? [{ name, readOnly, mask: 1n << BigInt(bit) }] : [],
  )
  return judgeWriters(pair, checked, ({ subject, granted }) => {
    const subjects = checked.index.subjectsOf(subject)
    const [writing, reading] = [granted, read.granted(read.extents('allow', subjects), subjects)]
    const places = compared.map((field) => ({
      ...field,
      written: field.readOnly ? NOWHERE : whereNamed(regions, writing, field.mask),
      hidden: regions.not(space.storedSide(whereNamed(regions, reading, field.mask))),
    }))
    const told = places.flatMap((written) =>
      places.map((hidden) => (hidden === written ? NOWHERE : regions.both(written.written, hidden.hidden))),
    )
    const region = told.find((one) => one !== NOWHERE)
    if (region === undefined) return undefined
    const situation = regions.smallest(region)
    const namesIn = (place: 'written' | 'hidden') =>
      places.filter((field) => regions.has(field[place], situation)).map(({ name }) => name)
    return { action: write.action.name, writes: namesIn('written'), hidden: namesIn('hidden') }
  })
}

export const unboundedObjects: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'unbounded-field',
      meaning:
        'A schema has fields without a bound (text without `maxLength` or a `pattern` that bounds it, a list without ' +
        '`maxItems`, an object with free members), so only `object` of `limits.yaml` (the place of the finding) limits the size of an object',
      mend:
        'Write the missing keywords into the schema file; if large values are intended, suppress the warning and ' +
        'give the reason',
    },
  ],
  find: ({ resources, placeOfKey }) =>
    storedResources(resources).flatMap((resource) => {
      const fields = unboundedFields(resource).map(({ field, lacks }) => `\`${field}\` (${namesText(lacks)})`)
      if (fields.length === 0) return []
      const message = `these fields of \`${resource.name}\` have no bound (missing keyword): ${fields.join(', ')}`
      const hint = 'write the missing keywords into the schema file'
      return [warning(placeOfKey('limits.yaml', ['object']), 'unbounded-field', message, hint)]
    }),
}
