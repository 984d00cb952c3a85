/** A resource whose schema accepts what the test says, and migrations from text. */
import { FileError } from '../../src/base/diagnostic.ts'
import { type ParsedMigration, parseMigration } from '../../src/migrations/file/read-migrations.ts'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import type { Resources } from '../../src/resources/resource.ts'

type Properties = Readonly<Record<string, object>>

/** By resource, its fields besides the server's. */
export function schemasWith(all: Readonly<Record<string, Properties>>, required: readonly string[] = []): Resources {
  const sources = Object.entries(all).map(([name, properties]) => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: name,
      type: 'object',
      'x-resource': { routes: [{ path: `/api/${name}`, methods: ['GET'] }] },
      properties: {
        id: { type: 'string', readOnly: true },
        ...properties,
        createdAt: { type: 'string', format: 'date-time', readOnly: true },
        updatedAt: { type: 'string', format: 'date-time', readOnly: true },
      },
      required,
      additionalProperties: false,
    }
    return { name: `${name}.json`, text: JSON.stringify(schema) }
  })
  return parseResources(sources)
}

/** Throws FileError. */
export function migrationOf(name: string, text: string): ParsedMigration {
  const parsed = parseMigration({ name: `${name}.yaml`, text }, name, (fault) => {
    throw new FileError([fault])
  })
  if (!parsed) throw new Error('the migration has faults')
  return parsed
}
