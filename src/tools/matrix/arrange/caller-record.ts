/**
 * The users record that gives a caller attributes. It has no other attribute that relations compare, as far as its
 * schema lets it: a further one could make relations hold. Plans and runs make the same record.
 */
import { type Ownership, USERS } from '../../../decide/policy.ts'
import { comparedAttributes } from '../../../decide/relations/all-kinds.ts'
import { isScalar } from '../../../resources/object.ts'
import type { Field, Json, Representation, Resources } from '../../../resources/resource.ts'
import { arrangeObject } from './arrange-object.ts'
import { canLack } from './field-choice.ts'
import type { Samples, SamplesOf } from './values/samples.ts'
import type { Attributes } from './wanted-object.ts'

interface About {
  readonly resources: Resources
  readonly samplesOf: SamplesOf
  /** Of the resource whose relations compare attributes. */
  readonly ownership: Ownership | undefined
  readonly now: number
}

/** How many values are tried for all attributes together that a record can't lack. */
const MOST_TRIED = 16

/** The likeliest first. `attributes`: those that the caller must have, without the id. */
export function* callerRecords(about: About, id: string, attributes: Attributes): Generator<Representation, undefined> {
  const { resources, samplesOf, now } = about
  const [resource, samples] = [resources.byName.get(USERS), samplesOf.get(USERS)]
  if (!resource || !samples) return undefined
  const given = Object.entries(attributes) as readonly (readonly [string, Json])[]
  const open = comparedIn(about.ownership).flatMap((name) => {
    const field = resource.fields.get(name)
    return field && !Object.hasOwn(attributes, name) ? [field] : []
  })
  const lacked = open.filter((field) => canLack(resource, field)).map(({ name }) => [name, undefined] as const)
  const had = open.filter((field) => !canLack(resource, field) && !field.unique)
  const ways = [...waysToHave(had, samples).map((some) => [...given, ...lacked, ...some]), given]
  for (const fixed of ways) {
    const common = { resource, samples, ownership: undefined, relations: new Set<string>(), attributes: {}, now, id }
    const found = arrangeObject({ ...common, fixed: new Map<string, Json | undefined>(fixed) })
    if (found.kind === 'object') yield found.object
  }
  return undefined
}

/** The attributes that relations compare, without the id. */
export function comparedIn(ownership: Ownership | undefined): readonly string[] {
  const relations = [...(ownership?.relations.values() ?? [])]
  return [...new Set(relations.flatMap(comparedAttributes))].filter((name) => name !== 'id')
}

/** Those of these attributes that the record gives its caller. */
export function attributesIn(record: Representation, names: readonly string[]): Attributes {
  return Object.fromEntries(
    names.flatMap((name): readonly (readonly [string, Attributes[string]])[] => {
      const value = Object.hasOwn(record, name) ? record[name] : undefined
      if (Array.isArray(value)) return [[name, value.filter(isScalar)]]
      return isScalar(value) ? [[name, value]] : []
    }),
  )
}

function waysToHave(fields: readonly Field[], { values }: Samples): readonly (readonly (readonly [string, Json])[])[] {
  return fields.reduce<readonly (readonly (readonly [string, Json])[])[]>(
    (some, { name }) =>
      (values.get(name) ?? [])
        .flatMap((value) => some.map((way) => [...way, [name, value] as const]))
        .slice(0, MOST_TRIED),
    [[]],
  )
}
