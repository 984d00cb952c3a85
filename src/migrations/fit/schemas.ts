/** The schemas as far as stored objects depend on them, with a digest: routes don't count, nor how a file is written. */
import { createHash } from 'node:crypto'
import { isObject } from '../../base/is-object.ts'
import type { Json, Resource, Resources } from '../../resources/resource.ts'
import type { FittedSchemas } from '../../store/migrations.ts'

type Schema = Readonly<Record<string, Json>>

export function dataResources({ byName }: Pick<Resources, 'byName'>): readonly Resource[] {
  return [...byName.values()].filter(({ builtIn }) => !builtIn)
}

export function schemasOf(resources: Pick<Resources, 'byName'>): FittedSchemas {
  const names = dataResources(resources)
    .map(({ name }) => name)
    .sort()
  const schemas = JSON.stringify(Object.fromEntries(names.map((name) => [name, storedPart(resources, name)])))
  return { digest: createHash('sha256').update(schemas).digest('hex'), schemas }
}

function storedPart({ byName }: Pick<Resources, 'byName'>, name: string): Schema {
  const { 'x-resource': _routes, ...rest } = byName.get(name)?.schema ?? {}
  return rest
}

/** By resource, the schemas that the data last fitted. */
function fittedSchemas({ schemas }: FittedSchemas): ReadonlyMap<string, Schema> {
  const parsed: unknown = JSON.parse(schemas)
  return new Map(isObject(parsed) ? Object.entries(parsed as Record<string, Schema>) : [])
}

/** The resources whose stored objects may not fit: those with another schema than the one that they last fitted. */
export function changedResources(
  resources: Pick<Resources, 'byName'>,
  fitted: FittedSchemas | undefined,
): readonly Resource[] {
  const before = fitted ? fittedSchemas(fitted) : undefined
  return dataResources(resources).filter(({ name }) => {
    return JSON.stringify(before?.get(name)) !== JSON.stringify(storedPart(resources, name))
  })
}
