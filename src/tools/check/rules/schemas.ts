/** Finds schemas that reveal or accept too much: rules that compare a field with a hidden one, fields of any size. */

import { type Extent, NOWHERE, whereNamed } from '../../../analysis/regions.ts'
import { decisionsOf } from '../../../analysis/space.ts'
import type { Diagnostic } from '../../../base/diagnostic.ts'
import { namesText } from '../../../present/quote.ts'
import type { Operation, Resource } from '../../../resources/resource.ts'
import { unboundedFields } from '../../../resources/schema/bounds.ts'
import { type CrossFieldRule, crossFieldRulesIn } from '../../../resources/schema/comparisons.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import { CELL, type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'
import { pairsOf, type WritePair } from '../reach/writers.ts'

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
  for (const pair of pairsOf(resource, checked.index, CHANGES)) {
    const { write } = pair
    for (const writer of writersIn(pair, checked)) {
      const told = toldTo(writer, pair, comparison)
      if (!told) continue
      const { subject, from, column } = writer
      const may = `\`${subject}\` may ${write.action.name} ${namesText(told.writes)} of \`${resource.name}\``
      const compared = `\`${comparison.keyword}\` of the schema compares them, so answers reveal stored values`
      const message = `${may} but not read ${namesText(told.hidden)}; ${compared}`
      const hint = 'let the subject read these fields, or remove the rule from the schema'
      const line = write.firstLine('allow', from, column)
      return [warning(checked.placeOfLine(line, CELL.fields), 'schema-tells', message, hint)]
    }
  }
  return []
}

/** Who may write through one group of rules. */
interface Writer {
  readonly subject: string
  /** The subject of the rules: the same one, or one that it inherits. */
  readonly from: string
  readonly column: string
  /** What the rules grant despite denies: for a write that changes an object, some result of it. */
  readonly writing: readonly Extent[]
  readonly reading: readonly Extent[]
}

/** Of subjects with the same rules, the first. */
function* writersIn({ write, read }: WritePair, { policy, index }: CheckedPolicy): Generator<Writer> {
  const { space } = write
  const decision = decisionsOf(write.resource, write.action).changes ? space.second : space.first
  const heirs = new Set(['anonymous', ...policy.roles.keys(), ...read.subjects('deny')])
  const own = [...write.subjects('allow')].map((subject) => ({ subject, from: subject }))
  const inherited = [...heirs].flatMap((subject) =>
    [...index.subjectsOf(subject)].filter((name) => name !== subject).map((from) => ({ subject, from })),
  )
  const seen = new Set<string>()
  for (const { subject, from } of [...own, ...inherited]) {
    const likeness = `${index.profileOf(subject)} ${subject === from ? '' : from}`
    if (seen.has(likeness)) continue
    seen.add(likeness)
    const subjects = index.subjectsOf(subject)
    const reading = read.granted(read.extents('allow', subjects), subjects)
    for (const group of write.groups('allow', from)) {
      const writing = write.granted([group], subjects).map(({ fields, region }) => ({
        fields,
        region: space.storedSide(space.regions.both(region, decision)),
      }))
      yield { subject, from, column: group.column, writing, reading }
    }
  }
}

/** The fields that are compared, and that somebody writes without reading the other ones. */
function toldTo({ writing, reading }: Writer, { write: { resource, space } }: WritePair, { fields }: CrossFieldRule) {
  const { regions } = space
  const places = [...resource.fields.values()].flatMap(({ name, readOnly }, bit) => {
    if (!fields.has(name)) return []
    const mask = 1n << BigInt(bit)
    const written = readOnly ? NOWHERE : whereNamed(regions, writing, mask)
    return [{ name, written, hidden: regions.not(space.storedSide(whereNamed(regions, reading, mask))) }]
  })
  const told = places.flatMap((one) =>
    places.map((other) => (other === one ? NOWHERE : regions.both(one.written, other.hidden))),
  )
  const region = told.find((one) => one !== NOWHERE)
  if (region === undefined) return undefined
  const situation = regions.smallest(region)
  const namesIn = (place: 'written' | 'hidden') =>
    places.filter((field) => regions.has(field[place], situation)).map(({ name }) => name)
  return { writes: namesIn('written'), hidden: namesIn('hidden') }
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
