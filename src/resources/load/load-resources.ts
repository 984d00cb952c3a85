/** Schema files -> resources. All faults of all files are reported at once. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Diagnostic, FileError } from '../../base/diagnostic.ts'
import { readProjectFile } from '../../base/files/project-file.ts'
import { strayFiles } from '../../base/files/stray-files.ts'
import { builtInBeside } from '../built-in/resources.ts'
import type { SchemaCode } from '../check/codes.ts'
import { checkCommands } from '../check/commands.ts'
import { checkExternal } from '../check/external.ts'
import { checkFields, checkReferences } from '../check/fields.ts'
import { checkKeywords, withoutConsequences } from '../check/keywords.ts'
import { checkCommand, checkMetaSchema, checkXResource } from '../check/meta-schema.ts'
import { checkPatterns } from '../check/patterns.ts'
import { checkParents, checkReferenceForms, checkReferredResources } from '../check/references.ts'
import { checkClashes, checkRoutes } from '../check/routes.ts'
import type { Resource, Resources } from '../resource.ts'
import { faultAt, type JsonObject, parseSchemaFile, type SchemaFile, type SourceText } from '../schema/schema-file.ts'
import { createSchemaCompiler, type SchemaCompiler } from '../validate/compile-schema.ts'
import { declaredCommand, makeCommandRoute, routeOfCommand } from './make-commands.ts'
import { makeFields, referencesIn, uniqueTogetherIn } from './make-fields.ts'
import { checkHistory, historyRouteOf, makeHistory } from './make-history.ts'
import { canonicalItemPath, declaredActions, isExternal, makeActions, makeRoutes } from './make-routes.ts'

/** The resources of all `*.json` files of a directory, and the built-in ones. Throws FileError. */
export async function loadResources(directory: string): Promise<Resources> {
  return (await loadSchemas(directory)).resources
}

/** The resources with the texts of their files, so that another thread can create them again. Throws FileError. */
export async function loadSchemas(
  directory: string,
): Promise<{ readonly resources: Resources; readonly sources: readonly SourceText[] }> {
  const { sources, faults } = await readSchemas(directory)
  return { resources: assemble(sources, faults), sources }
}

/** All faults of the directory's files, sorted by place. Never rejects. */
export async function findSchemaFaults(directory: string): Promise<ReadSchemas> {
  const read = await readSchemas(directory)
  return { sources: read.sources, faults: resourcesIn(read).faults }
}

/** Makes resources of the files. With a fault there are none. All faults are told, sorted by place. */
export function resourcesIn({ sources, faults }: ReadSchemas): {
  readonly resources: Resources | undefined
  readonly faults: readonly Diagnostic[]
} {
  try {
    return { resources: assemble(sources, faults), faults: [] }
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return { resources: undefined, faults: error.diagnostics }
  }
}

/** The resources of these texts. A resource is called like its file; names must differ. Throws FileError. */
export function parseResources(sources: readonly SourceText[]): Resources {
  return assemble(sources, [])
}

function assemble(sources: readonly SourceText[], unread: readonly Diagnostic[]): Resources {
  const parsed = sources.map((source) => ({ ...parseSchemaFile(source), isCommand: source.isCommand === true }))
  const filesOf = (isCommand: boolean) =>
    parsed.flatMap((one) => (one.kind === 'file' && one.isCommand === isCommand ? [one.file] : []))
  const [files, commands] = [filesOf(false), filesOf(true)]
  const faulty = parsed.flatMap((one) => (one.kind === 'faulty' ? one.faults : []))
  const compiler = createSchemaCompiler()
  const ofSchemas = [...unread, ...faulty, ...files.flatMap((file) => schemaFaults(file, compiler))]
  const ofRoutes = routeFaults(files, commands)
  // A fault of a resource could have others in its commands.
  const ofCommands = ofSchemas.length + ofRoutes.length > 0 ? [] : checkCommands(commands, files, compiler)
  const faults = [...ofSchemas, ...ofRoutes, ...ofCommands]
  if (faults.length > 0) throw new FileError(faults)
  const own = files.map((file) => makeResource(file, commands, compiler))
  return joined([...followed(own), ...builtInBeside(own)])
}

/**
 * Whoever follows events sees other objects when a membership changes, or its own record: so where one resource has
 * events, what happens to all stored objects is kept as long.
 */
function followed(resources: readonly Resource[]): readonly Resource[] {
  const keepMs = Math.max(0, ...resources.flatMap(({ routes }) => routes.map(({ events }) => events?.keepMs ?? 0)))
  if (keepMs === 0) return resources
  return resources.map((resource) => {
    if (resource.external) return resource
    return Object.freeze({ ...resource, changes: { keepMs: Math.max(keepMs, resource.changes?.keepMs ?? 0) } })
  })
}

/** Each step relies on the step before, so the first step that finds faults ends the check. */
function schemaFaults(file: SchemaFile, compiler: SchemaCompiler): readonly Diagnostic[] {
  const invalid = checkMetaSchema(file)
  if (invalid.length > 0) return invalid
  const checks = [checkKeywords, checkReferences, checkPatterns, checkFields, checkReferenceForms]
  const faults = withoutConsequences(
    file,
    checks.flatMap((check) => check(file)),
  )
  return faults.length > 0 ? faults : compiler.check(file)
}

function routeFaults(files: readonly SchemaFile[], commands: readonly SchemaFile[]): readonly Diagnostic[] {
  const invalid = files.flatMap((file) => withoutConsequences(file, checkXResource(file)))
  const readable = files.filter((file) => checkXResource(file).length === 0)
  return [
    ...invalid,
    ...readable.flatMap(checkRoutes),
    ...readable.flatMap(checkExternal),
    ...readable.flatMap(checkHistory),
    ...checkClashes(readable, [
      ...commands.flatMap((file) =>
        checkCommand(file).length === 0 ? [{ file, route: routeOfCommand(file), at: [] }] : [],
      ),
      ...readable.flatMap((file) => {
        const route = historyRouteOf(file)
        return route ? [{ file, route, at: ['x-history'] }] : []
      }),
    ]),
    ...checkReferredResources(readable),
    ...checkParents(readable),
  ]
}

function makeResource(file: SchemaFile, commands: readonly SchemaFile[], compiler: SchemaCompiler): Resource {
  const external = isExternal(file)
  const fields = makeFields(file.json as JsonObject)
  const declared = referencesIn(fields)
  const own = commands.filter((one) => declaredCommand(one).resource === file.resource)
  const history = makeHistory(file)
  const routes = Object.freeze([
    ...makeRoutes(file, declared.references ?? []),
    ...own.map(makeCommandRoute),
    ...history.routes,
  ])
  const canonical = external ? undefined : canonicalItemPath(routes)
  return Object.freeze({
    name: file.resource,
    builtIn: false,
    ...(external && { external }),
    schema: file.json as JsonObject,
    fields,
    ...declared,
    ...uniqueTogetherIn(file.json as JsonObject),
    routes,
    ...(history.changes && { changes: history.changes }),
    actions: makeActions(routes, declaredActions(file)),
    ...(canonical === undefined ? {} : { canonicalItemPath: canonical }),
    validate: external ? compiler.attributesValidatorOf(file) : compiler.validatorOf(file),
  })
}

function joined(resources: readonly Resource[]): Resources {
  return Object.freeze({
    byName: new Map(resources.map((resource) => [resource.name, resource])),
    routes: Object.freeze(resources.flatMap(({ external, routes }) => (external ? [] : routes))),
  })
}

/** Reads the schema files of a directory. The only code of this folder that touches the disk. */
export interface ReadSchemas {
  /** In the order of their names. */
  readonly sources: readonly SourceText[]
  readonly faults: readonly Diagnostic[]
}

/**
 * All `*.json` files of the directory; a file that can't be read is a fault. Never rejects. `unsaved`: texts of an editor
 * that count in place of files, by file name.
 */
export async function readSchemas(
  directory: string,
  unsaved: ReadonlyMap<string, string> = new Map(),
): Promise<ReadSchemas> {
  const onDisk = await schemaFileNames(directory).catch(() => undefined)
  if (onDisk === undefined) return failed(directory, 'directory-unreadable', 'the directory of schemas cannot be read')
  const all = [...new Set([...onDisk, ...[...unsaved.keys()].filter(isSchemaName)])].sort()
  const names = all.filter((name) => !isCommandName(name))
  const unknown = await unknownFiles(directory)
  if (names.length + unknown.length === 0) {
    return failed(directory, 'directory-empty', 'the directory has no schema files')
  }
  const read = await Promise.all([
    ...names.map((name) => readSource(directory, name, unsaved.get(name))),
    ...all.filter(isCommandName).map((name) => readCommand(directory, name, unsaved.get(name))),
  ])
  return {
    sources: read.flatMap(({ sources }) => sources),
    faults: [...read.flatMap(({ faults }) => faults), ...unknown, ...(await unknownFiles(join(directory, COMMANDS)))],
  }
}

/** The folder of commands, in that of schemas. */
const COMMANDS = 'commands'

/** The files that declare resources and commands, sorted: `orders.json`, `commands/place.json`. Rejects if there is no such directory. */
export async function schemaFileNames(directory: string): Promise<readonly string[]> {
  const commands = await readdir(join(directory, COMMANDS)).catch(() => [])
  const names = [...(await readdir(directory)), ...commands.map((name) => `${COMMANDS}/${name}`)]
  return names.filter(isSchemaName).sort()
}

/** `name`: from the directory of schemas. */
function isSchemaName(name: string): boolean {
  const rest = isCommandName(name) ? name.slice(COMMANDS.length + 1) : name
  return isSchemaFile(rest) && !rest.includes('/')
}

function isCommandName(name: string): boolean {
  return name.startsWith(`${COMMANDS}/`)
}

async function readCommand(directory: string, name: string, unsaved: string | undefined): Promise<ReadSchemas> {
  const { sources, faults } = await readSource(directory, name, unsaved)
  return { sources: sources.map((source) => ({ ...source, isCommand: true })), faults }
}

function isSchemaFile(name: string): boolean {
  return name.endsWith('.json') && !name.startsWith('.')
}

/** A resource that nobody serves because of a typing error would be missed late. */
async function unknownFiles(directory: string): Promise<readonly Diagnostic[]> {
  return (await strayFiles(directory, isSchemaFile)).map((name) => {
    const source = { name: join(directory, name), text: '' }
    return faultAt(source, 0, 'unknown-file', `\`${name}\` is not named like a schema file, so nothing would read it`)
  })
}

async function readSource(directory: string, file: string, unsaved: string | undefined): Promise<ReadSchemas> {
  const name = join(directory, file)
  if (unsaved !== undefined) return { sources: [{ name, text: unsaved }], faults: [] }
  const bytes = await readProjectFile(name, directory).catch((error: Error) => error.message.replaceAll(name, file))
  if (typeof bytes === 'string') return failed(name, 'file-unreadable', `the file cannot be read: ${bytes}`)
  try {
    // The byte order mark is kept, so that the JSON parser refuses it.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return { sources: [{ name, text }], faults: [] }
  } catch {
    return failed(name, 'file-encoding', 'the file is not UTF-8')
  }
}

function failed(name: string, code: SchemaCode, message: string): ReadSchemas {
  return { sources: [], faults: [faultAt({ name, text: '' }, 0, code, message)] }
}
