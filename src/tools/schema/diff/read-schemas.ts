/** Reads OLD and NEW of a schema diff: a directory, or a git revision. */
import { join } from 'node:path'
import { FileError } from '../../../base/diagnostic.ts'
import { parseResources, readSchemas } from '../../../resources/load/load-resources.ts'
import type { Resources } from '../../../resources/resource.ts'
import { parseSchemaFile, type SchemaFile } from '../../../resources/schema/schema-file.ts'
import { readFolder } from '../../diff/revision.ts'

export interface SchemaSide {
  readonly resources: Resources
  /** By resource, with the places of their parts. */
  readonly files: ReadonlyMap<string, SchemaFile>
}

/** `schemas`: the folder of a revision without a path. Throws ToolError, and FileError for files with errors. */
export async function readSchemaSide(name: string, schemas: string): Promise<SchemaSide> {
  const isFile = (file: string) => file.endsWith('.json')
  return readFolder(name, { of: 'schema', usual: schemas, isFile, load: loadSide })
}

async function loadSide(directory: string, shown: string): Promise<SchemaSide> {
  const read = await readSchemas(directory)
  if (read.faults.length > 0) throw new FileError(read.faults)
  const parsed = read.sources.map(parseSchemaFile).flatMap((one) => (one.kind === 'file' ? [one.file] : []))
  return {
    resources: parseResources(read.sources),
    files: new Map(parsed.map((file) => [file.resource, shownAt(file, shown)])),
  }
}

/** The file with the name that the user knows. The top of a repository is `HEAD:`. */
function shownAt(file: SchemaFile, shown: string): SchemaFile {
  const name = `${file.resource}.json`
  const named = shown.endsWith(':') ? shown + name : join(shown, name)
  return { ...file, place: (path) => ({ ...file.place(path), file: named }) }
}
