/** A first migration file for a change of schemas, for a person to finish: what a machine can't know is left open. */
import { type FitReason, storedFit } from '../../resources/fit/stored-fit.ts'
import type { Json, Resource } from '../../resources/resource.ts'

type ResourcesByName = ReadonlyMap<string, Resource>

const HEAD = `# A draft: check each step, and fill in what has TO DO. Then rehearse it: sallyport data migrate --dry-run
description: "TO DO: what the migration is for"
`

/** YAML; undefined if all objects that fit the old schemas fit the new ones. */
export function draftMigration(old: ResourcesByName, next: ResourcesByName): string | undefined {
  const parts = [...old].flatMap(([name, before]) => {
    const after = next.get(name)
    const lines = after ? stepsFor(before, after) : []
    return lines.length === 0 ? [] : [`  ${JSON.stringify(name)}:`, ...lines.map((line) => `    ${line}`)]
  })
  return parts.length === 0 ? undefined : `${HEAD}resources:\n${parts.join('\n')}\n`
}

function stepsFor(before: Resource, after: Resource): readonly string[] {
  const { reasons } = storedFit(before, after)
  const renamed = renamesOf(before, after, reasons)
  const moves = [...renamed].map(([from, to]) => `- rename: ${flow({ from, to })} # TO DO: is it the same field?`)
  const targets = new Set(renamed.values())
  const others = reasons.filter(({ field }) => !renamed.has(field) && !targets.has(field))
  return [...moves, ...new Set(others.map((reason) => stepFor(reason, before, after)))]
}

/** Fields that are gone, and the only new field with the same schema. */
function renamesOf(before: Resource, after: Resource, reasons: readonly FitReason[]): ReadonlyMap<string, string> {
  const gone = reasons.filter(({ code, path }) => code === 'field-removed' && path.length === 1)
  const added = [...after.fields.keys()].filter((name) => !before.fields.has(name))
  const pairs = gone.flatMap(({ field }) => {
    const alike = added.filter((name) => schemaOf(after, name) === schemaOf(before, field))
    const rivals = gone.filter((other) => schemaOf(before, other.field) === schemaOf(before, field))
    return alike.length === 1 && rivals.length === 1 ? [[field, alike[0] as string] as const] : []
  })
  return new Map(pairs)
}

function schemaOf({ schema }: Resource, field: string): string {
  const properties = schema.properties as Readonly<Record<string, Json>> | undefined
  return JSON.stringify(properties?.[field])
}

function stepFor(reason: FitReason, before: Resource, after: Resource): string {
  const { code, field, path, lost } = reason
  if (path.length === 1) {
    if (code === 'field-removed') return `- drop: ${flow([field])}`
    if (code === 'field-required') return defaultFor(reason)
    if (code === 'values-narrowed' && lost) return mapFor(field, lost)
    const [wasList, isList] = [before, after].map(({ fields }) => fields.get(field)?.list)
    if (code === 'type-narrowed' && wasList !== isList) return `- ${isList ? 'list' : 'single'}: ${flow([field])}`
  }
  const what = reason.message.replaceAll(/\s+/g, ' ')
  return `# TO DO: /${path.join('/')} ${what} [${code}]: no step was found for it`
}

function defaultFor({ field, default: value }: FitReason): string {
  if (value !== undefined) return `- default: ${flow({ field, value })}`
  return `- default: ${flow({ field, value: null })} # TO DO: the value`
}

function mapFor(field: string, lost: readonly Json[]): string {
  const values = lost.map((from) => ({ from, to: null }))
  return `- map: ${flow({ field, values, others: 'keep' })} # TO DO: the new values`
}

/** JSON is YAML, in its flow style. */
function flow(value: unknown): string {
  return JSON.stringify(value)
}
