/** The smallest body and sample values for the fields of every resource, from the schemas alone. */
import { isObject } from '../../../../base/is-object.ts'
import type { Policy } from '../../../../decide/policy.ts'
import { kindOf } from '../../../../decide/relations/all-kinds.ts'
import { askingAs, type Relation } from '../../../../decide/relations/relation-kind.ts'
import { isScalar } from '../../../../resources/object.ts'
import type { Json, Resource, Resources } from '../../../../resources/resource.ts'
import { unique, valuesOf } from '../../../../resources/samples/sample-values.ts'
import { parseSchemaFile, type SourceText } from '../../../../resources/schema/schema-file.ts'

/** The id of the caller, unless a column names a user. Most schemas accept its form. */
export const CALLER = '01980000-0000-7000-8000-00000000000c'
/** The object that a path names. */
export const OBJECT = '01980000-0000-7000-8000-00000000000a'

/** Whether a value names the caller of predictions; a running server has callers with other ids. */
export function namesCaller(value: Json): boolean {
  return JSON.stringify(value).includes(CALLER)
}

/** The number of values that keep their places: smallest bodies and stored objects have them. */
const FIRST = 3

export interface Samples {
  /** The smallest body that the schema accepts. */
  readonly smallest: Readonly<Record<string, Json>>
  /** Valid values of each field that clients may give, smallest first. */
  readonly values: ReadonlyMap<string, readonly Json[]>
}

/** By resource; built-in resources have no samples. */
export type SamplesOf = ReadonlyMap<string, Samples>

/** `sources` are the schema files of `resources`. */
export function sampleResources(sources: readonly SourceText[], { byName }: Resources): SamplesOf {
  return new Map(
    sources.flatMap((source) => {
      const parsed = parseSchemaFile(source)
      const resource = parsed.kind === 'file' ? byName.get(parsed.file.resource) : undefined
      if (parsed.kind !== 'file' || !resource || !isObject(parsed.file.json)) return []
      return [[resource.name, samplesOf(resource, parsed.file.json)] as const]
    }),
  )
}

/** A message if a required field has no known valid value, so that neither an object nor a body can be made. */
export function lackingValue(resource: string, { smallest, values }: Samples): string | undefined {
  const field = Object.keys(smallest).find((name) => (values.get(name)?.length ?? 0) === 0)
  return field && `no valid value was found for \`${field}\` of ${resource}: add \`examples\` to its schema`
}

/** Adds the values that relations of the policy compare, because predictions must try them too. */
export function withCompared(
  samples: SamplesOf,
  { byName }: Resources,
  { ownership }: Pick<Policy, 'ownership'>,
): SamplesOf {
  return new Map(
    [...samples].map(([name, { smallest, values }]) => {
      const resource = byName.get(name)
      const relations = [...(ownership.get(name)?.relations.values() ?? [])]
      const more = relations.flatMap((relation) => (resource ? comparedBy(relation, resource) : []))
      const joined = [...values].map(([field, known]) => {
        const compared = more.filter((one) => one.field === field).map(({ value }) => value)
        return [field, unique([...known.slice(0, FIRST), ...compared, ...known])] as const
      })
      return [name, { smallest, values: new Map(joined) }] as const
    }),
  )
}

function comparedBy(
  relation: Relation,
  resource: Resource,
): readonly { readonly field: string; readonly value: Json }[] {
  const accepted = kindOf(relation).accepted?.(relation, askingAs({ id: CALLER }, Date.now()))
  const field = accepted && resource.fields.get(accepted.field)
  if (!field || field.readOnly) return []
  const values = accepted.telling.map((value) => (field.list ? [value] : value))
  return values.filter((value) => isValidIn(resource, field.name, value)).map((value) => ({ field: field.name, value }))
}

function samplesOf(resource: Resource, json: { readonly [key: string]: Json }): Samples {
  const properties = isObject(json.properties) ? json.properties : {}
  const values = new Map(
    [...resource.fields.values()].map((field) => {
      const proposed = valuesOf(json, properties[field.name] ?? true)
      return [field.name, proposed.filter((value) => isValidIn(resource, field.name, value))] as const
    }),
  )
  const required = Array.isArray(json.required) ? json.required.map(String) : []
  const smallest = Object.fromEntries(
    required
      .filter((name) => !resource.fields.get(name)?.readOnly)
      .map((name) => [name, values.get(name)?.[0] ?? null] as const),
  )
  return { smallest: validBody(resource, smallest, values), values }
}

/** The required fields. If the schema needs more (for example with `anyOf`), one further field, or all of them. */
function validBody(
  { validate, fields }: Resource,
  required: Samples['smallest'],
  values: Samples['values'],
): Samples['smallest'] {
  const optional = [...values].flatMap(([name, [value]]) =>
    value === undefined || fields.get(name)?.readOnly || Object.hasOwn(required, name) ? [] : [{ [name]: value }],
  )
  const bodies = [{}, ...optional, Object.assign({}, ...optional)].map((more) => ({ ...required, ...more }))
  return bodies.find((body) => validate(body).length === 0) ?? required
}

/** Arranging asks about the same values again and again, and a schema takes long to find its faults. */
const MOST_KNOWN = 10_000
const known = new WeakMap<Resource, Map<string, Map<Json, boolean>>>()

/** Whether the schema accepts the value in this field, whatever the other fields are. */
export function isValidIn(resource: Resource, name: string, value: Json): boolean {
  const answers = known
    .getOrInsertComputed(resource, () => new Map<string, Map<Json, boolean>>())
    .getOrInsertComputed(name, () => new Map<Json, boolean>())
  if (answers.size > MOST_KNOWN) answers.clear()
  // A list is kept as text, told apart from the same text as a value.
  const key = isScalar(value) ? value : `\0${JSON.stringify(value)}`
  return answers.getOrInsertComputed(key, () => validates(resource, name, value))
}

function validates(resource: Resource, name: string, value: Json): boolean {
  const faults = resource.validate({ [name]: value })
  return !faults.some(({ pointer }) => pointer === `/${name}` || pointer.startsWith(`/${name}/`))
}
