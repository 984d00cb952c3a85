/** The schemas as far as stored objects depend on them, with a digest: routes don't count, nor how a file is written. */
import { createHash } from 'node:crypto'
import { byText } from '../../base/by-text.ts'
import { FileError } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import { storedFit } from '../../resources/fit/stored-fit.ts'
import { parseResources } from '../../resources/load/load-resources.ts'
import type { Json, Resource, Resources } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import type { FittedSchemas } from '../../store/migrations.ts'

type Schema = Readonly<Record<string, Json>>

const UNCHECKED = 'unchecked'

export function schemasOf(resources: Pick<Resources, 'byName'>): FittedSchemas {
  const all = storedResources(resources).toSorted((a, b) => byText(a.name, b.name))
  const digest = createHash('sha256')
  for (const { name, schema } of all) digest.update(JSON.stringify([name, storedPart(schema)]))
  const schemas = Object.fromEntries(all.map(({ name, schema }) => [name, schema]))
  return { digest: digest.digest('hex'), schemas: JSON.stringify(schemas) }
}

/**
 * The schemas after a migration: servers of other schemas may have written meanwhile, so the digest fits no schemas, and
 * the next start looks at all objects once.
 */
export function uncheckedSchemas(resources: Pick<Resources, 'byName'>): FittedSchemas {
  return { digest: UNCHECKED, schemas: schemasOf(resources).schemas }
}

/** Whether the objects fitted these schemas when they were last looked at: by a start, a check, or a migration. */
export function lastFitted(fitted: FittedSchemas | undefined, resources: Pick<Resources, 'byName'>): boolean {
  if (fitted === undefined) return false
  const digest = fitted.digest === UNCHECKED ? schemasOf({ byName: fittedResources(fitted) }).digest : fitted.digest
  return digest === schemasOf(resources).digest
}

function storedPart({ 'x-resource': _routes, ...rest }: Schema): Schema {
  return rest
}

/** By name, the resources as the data last fitted them, without those that this version can't read any more. */
export function fittedResources({ schemas }: FittedSchemas): ReadonlyMap<string, Resource> {
  const parsed: unknown = JSON.parse(schemas)
  const all = isObject(parsed) ? Object.entries(parsed) : []
  return new Map(all.flatMap(([name, schema]) => readAgain(name, schema)))
}

function readAgain(name: string, schema: unknown): readonly (readonly [string, Resource])[] {
  try {
    const { byName } = parseResources([{ name: `${name}.json`, text: JSON.stringify(schema) }])
    const resource = byName.get(name)
    return resource ? [[name, resource]] : []
  } catch (error) {
    if (error instanceof FileError) return []
    throw error
  }
}

/** The resources whose stored objects may not fit: the schema has changed, and not so that all objects still fit. */
export function changedResources(
  resources: Pick<Resources, 'byName'>,
  fitted: FittedSchemas | undefined,
): readonly Resource[] {
  const before = fitted && fitted.digest !== UNCHECKED ? fittedResources(fitted) : undefined
  return storedResources(resources).filter((resource) => {
    const old = before?.get(resource.name)
    const isSame = old && JSON.stringify(storedPart(old.schema)) === JSON.stringify(storedPart(resource.schema))
    return !isSame && (!old || storedFit(old, resource).verdict !== 'fits')
  })
}
