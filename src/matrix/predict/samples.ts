/** Smallest bodies and further values of every resource, from the schemas alone. */
import type { Field, Json, Resource, Resources } from '../../resources/resource.ts'
import { parseSchemaFile, type SourceText } from '../../resources/schema-file.ts'
import { isObject } from '../../resources/subschemas.ts'
import { valuesOf } from './sample-values.ts'

export interface Samples {
  /** The required fields with their smallest values. */
  readonly smallest: Readonly<Record<string, Json>>
  /** Valid values of each field that clients may give, smallest first. */
  readonly values: ReadonlyMap<string, readonly Json[]>
}

/** By resource; built-in ones have none. */
export type SamplesOf = ReadonlyMap<string, Samples>

/** From the sources that `resources` were made of. */
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

/** A required field for which no valid value was found. */
export function valueless({ smallest, values }: Samples): string | undefined {
  return Object.keys(smallest).find((name) => (values.get(name)?.length ?? 0) === 0)
}

function samplesOf(resource: Resource, json: { readonly [key: string]: Json }): Samples {
  const properties = isObject(json.properties) ? json.properties : {}
  const values = new Map(
    [...resource.fields.values()].map((field) => {
      const proposed = valuesOf(json, properties[field.name] ?? true)
      return [field.name, proposed.filter((value) => isValid(resource, field, value))] as const
    }),
  )
  const required = Array.isArray(json.required) ? json.required.map(String) : []
  const smallest = Object.fromEntries(
    required
      .filter((name) => !resource.fields.get(name)?.readOnly)
      .map((name) => [name, values.get(name)?.[0] ?? null] as const),
  )
  return { smallest, values }
}

function isValid(resource: Resource, { name }: Field, value: Json): boolean {
  const faults = resource.validate({ [name]: value })
  return !faults.some(({ pointer }) => pointer === `/${name}` || pointer.startsWith(`/${name}/`))
}
