/** Compares two folders of schemas: what the change means for clients, for stored data, and for policies. */
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { byPlace, FileError, type Place } from '../../../base/diagnostic.ts'
import { isObject } from '../../../base/is-object.ts'
import { type Path, pointerOfPath } from '../../../base/json-pointer.ts'
import { listed, type Phrase, say } from '../../../present/phrase.ts'
import { type FitCode, type FitReason, storedFit } from '../../../resources/fit/stored-fit.ts'
import { parseResources, readSchemas } from '../../../resources/load/load-resources.ts'
import type { Field, Json, Resource, Resources } from '../../../resources/resource.ts'
import { parseSchemaFile, type SchemaFile } from '../../../resources/schema/schema-file.ts'
import { readFolder } from '../../diff/revision.ts'
import type { PolicyPlace } from '../../load-policy.ts'
import { compareMatrices, comparePolicyFindings, fillingOf, type OtherPolicy } from './compare-policy.ts'
import { compareRoutes } from './compare-routes.ts'
import { compareValues, type Filling, placeText, valuesText } from './compare-values.ts'
import {
  CONCERNS,
  type CodedChange,
  type Concern,
  type SchemaChange,
  type SchemaDiff,
  type Unplaced,
} from './schema-change.ts'

export interface DiffOptions {
  readonly before: string
  readonly after: string
  /** The folder of schemas in a revision without a path. */
  readonly schemas: string
  readonly policies: PolicyPlace
  /** The policy that belongs to the schemas of `before`; without it, the same policy. */
  readonly earlier?: OtherPolicy
  /** A folder of matrices, which may be missing; undefined to compare none. */
  readonly matrices: string | undefined
  readonly now: Date
}

/** Throws ToolError, and FileError for schemas with errors. */
export async function diffSchemas({
  before,
  after,
  schemas,
  policies,
  earlier,
  matrices,
  now,
}: DiffOptions): Promise<SchemaDiff> {
  const [old, next] = [await readSchemaSide(before, schemas), await readSchemaSide(after, schemas)]
  const both = { before: old.resources, after: next.resources }
  const filling = await fillingOf(policies, both)
  const policyChanges = [
    ...(await comparePolicyFindings({ policies, earlier }, both, now)),
    ...(matrices === undefined ? [] : await compareMatrices(matrices, both)),
  ]
  const compared = namesOf(old, next).map((name) => compareResource(name, { old, next, filling }))
  return {
    names: { before, after },
    changes: sorted([...compared.flatMap(({ changes }) => changes), ...policyChanges]),
    data: new Map(compared.map(({ name, verdict }) => [name, verdict])),
  }
}

function namesOf(old: SchemaSide, next: SchemaSide): readonly string[] {
  return [...new Set([...old.files.keys(), ...next.files.keys()])].sort()
}

interface SchemaSides {
  readonly old: SchemaSide
  readonly next: SchemaSide
  readonly filling: Filling
}

function compareResource(name: string, { old, next, filling }: SchemaSides) {
  const [before, after] = [old.resources.byName.get(name), next.resources.byName.get(name)]
  const file = next.files.get(name) ?? old.files.get(name)
  const placed =
    (concern: Concern) =>
    ({ path, route, ...change }: Unplaced): SchemaChange => ({
      ...(file ? placeOf(file, { path, route }) : NOWHERE),
      concern,
      resource: name,
      pointer: pointerOfPath(path ?? []),
      ...change,
    })
  const fit = storedFit(stored(before), stored(after))
  const changes = [
    ...clientChanges(before, after, filling).map(placed('clients')),
    ...fit.reasons.map(dataChange).map(placed('data')),
  ]
  return { name, changes, verdict: fit.verdict }
}

/** Nothing is stored of a resource that is kept elsewhere. */
function stored(resource: Resource | undefined): Resource | undefined {
  return resource?.external ? undefined : resource
}

const NOWHERE: Place = { file: '', line: 1, column: 1 }

function clientChanges(old: Resource | undefined, next: Resource | undefined, filling: Filling): readonly Unplaced[] {
  if (!next) return [{ code: 'resource-removed', effect: 'breaking', sentence: say`the resource is gone` }]
  if (next.external && old && !old.external) {
    const sentence = say`the resource is kept elsewhere, so its paths are gone`
    return [{ code: 'resource-removed', effect: 'breaking', sentence }]
  }
  if (old?.external && !next.external) {
    return [{ code: 'resource-added', effect: 'compatible', sentence: say`the resource is served here` }]
  }
  if (!old) return [{ code: 'resource-added', effect: 'compatible', sentence: say`the resource is new` }]
  return [
    ...compareRoutes(old, next),
    ...compareFields(old, next),
    ...compareTogether(old, next),
    ...compareValues(old, next, filling),
  ]
}

/** By concern, then by place. */
function sorted(changes: readonly SchemaChange[]): readonly SchemaChange[] {
  const asDiagnostic = (change: SchemaChange) => ({ ...change, severity: 'error', message: '' }) as const
  return changes.toSorted(
    (a, b) => CONCERNS.indexOf(a.concern) - CONCERNS.indexOf(b.concern) || byPlace(asDiagnostic(a), asDiagnostic(b)),
  )
}

// Reads OLD and NEW of a schema diff: a directory, or a git revision.

interface SchemaSide {
  readonly resources: Resources
  /** By resource, with the places of their parts. */
  readonly files: ReadonlyMap<string, SchemaFile>
}

/** `schemas`: the folder of a revision without a path. Throws ToolError, and FileError for files with errors. */
async function readSchemaSide(name: string, schemas: string): Promise<SchemaSide> {
  const isFile = (file: string) => file.endsWith('.json')
  return readFolder(name, { of: 'schema', usual: schemas, isFile, load: loadSide })
}

async function loadSide(directory: string, shown: string): Promise<SchemaSide> {
  const read = await readSchemas(directory)
  if (read.faults.length > 0) throw new FileError(read.faults)
  const parsed = read.sources
    .filter(({ isCommand }) => !isCommand)
    .map(parseSchemaFile)
    .flatMap((one) => (one.kind === 'file' ? [one.file] : []))
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

// What new, removed and changed fields mean for clients, apart from the values that they take.

function compareFields(old: Resource, next: Resource): readonly Unplaced[] {
  const names = [...new Set([...old.fields.keys(), ...next.fields.keys()])]
  return names.flatMap((name) => {
    const [before, after] = [old.fields.get(name), next.fields.get(name)]
    if (!before) return [about('field-added', 'compatible', name, say`the field ${name} is new`)]
    if (!after) return [about('field-removed', 'breaking', name, say`the field ${name} is gone`)]
    return compareField(before, after)
  })
}

/** Fields that are unique together. */
function compareTogether({ uniqueTogether: old = [] }: Resource, { uniqueTogether: next = [] }: Resource) {
  const lacking = (names: readonly string[], all: typeof old) =>
    !all.some((one) => one.length === names.length && one.every((name) => names.includes(name)))
  const change =
    ([code, effect, say]: TogetherChange) =>
    (names: readonly string[]): Unplaced => {
      return { code, effect, path: names.slice(0, 1), sentence: say(listed(names)) }
    }
  return [
    ...next.filter((names) => lacking(names, old)).map(change(MORE)),
    ...old.filter((names) => lacking(names, next)).map(change(FEWER)),
  ]
}

type TogetherChange = readonly [string, CodedChange[1], (names: Phrase) => Phrase]
const MORE: TogetherChange = [
  'unique-added',
  'breaking',
  (names) => say`a second object with the same ${names} together is refused`,
]
const FEWER: TogetherChange = ['unique-removed', 'compatible', (names) => say`two objects may have the same ${names}`]

function compareField(old: Field, next: Field): readonly Unplaced[] {
  const { name } = next
  const turned = (is: (field: Field) => boolean, on: CodedChange, off: CodedChange) => {
    const [code, effect, sentence] = is(next) ? on : off
    return is(old) === is(next) ? [] : [about(code, effect, name, sentence)]
  }
  return [
    ...turned(
      ({ readOnly }) => readOnly,
      ['field-read-only', 'breaking', say`clients can no longer set ${name}`],
      ['field-writable', 'compatible', say`clients can set ${name}`],
    ),
    ...turned(
      ({ indexed }) => indexed,
      ['filter-added', 'compatible', say`lists can filter and sort by ${name}`],
      ['filter-removed', 'breaking', say`lists can no longer filter and sort by ${name}`],
    ),
    ...turned(
      ({ unique }) => unique,
      ['unique-added', 'breaking', say`a second object with the same ${name} is refused`],
      ['unique-removed', 'compatible', say`two objects may have the same ${name}`],
    ),
    ...referenceChange(old, next),
    ...(isDeepStrictEqual(old.default, next.default) ? [] : [defaultChange(old, next)]),
  ]
}

function referenceChange({ reference: old }: Field, { name, reference: next }: Field): readonly Unplaced[] {
  if (!next) return old ? [about('reference-removed', 'compatible', name, say`${name} may hold any text`)] : []
  if (old?.resource !== next.resource) {
    return [about('reference-added', 'breaking', name, say`${name} must name a stored object of ${next.resource}`)]
  }
  if (old.onDelete === next.onDelete) return []
  const sentence = say`what a delete of the object in ${name} does: ${old.onDelete} -> ${next.onDelete}`
  return [about('reference-changed', 'breaking', name, sentence)]
}

function defaultChange(old: Field, next: Field): Unplaced {
  const [before, after] = [old, next].map((field) =>
    field.default === undefined ? say`none` : say`${JSON.stringify(field.default)}`,
  )
  return about(
    'default-changed',
    'compatible',
    next.name,
    say`the default of ${next.name}: ${before ?? ''} -> ${after ?? ''}`,
  )
}

function about(code: string, effect: CodedChange[1], name: string, sentence: Phrase): Unplaced {
  return { code, effect, path: [name], sentence }
}

// What a change means for stored objects.

const CODES: Partial<Readonly<Record<FitCode, string>>> = {
  'field-removed': 'data-removed',
  'fields-closed': 'data-removed',
  'field-required': 'data-required',
  'unique-added': 'data-unique',
  'reference-added': 'data-reference',
  'resource-removed': 'data-unreachable',
}

function dataChange(reason: FitReason): Unplaced {
  const { code, verdict, path, value } = reason
  return {
    code: CODES[code] ?? 'data-misfit',
    effect: verdict === 'unknown' ? 'unknown' : 'breaking',
    path,
    sentence: verdict === 'unknown' ? unknownText(reason) : misfitText(reason),
    ...(value === undefined ? {} : { example: value }),
  }
}

function unknownText({ path, keyword }: FitReason): Phrase {
  return say`stored objects may have a ${placeText(path)} that no longer fits: its ${keyword} changed`
}

function misfitText(reason: FitReason): Phrase {
  const { code, path, lost, value } = reason
  const place = placeText(path)
  switch (code) {
    case 'field-removed':
    case 'fields-closed':
      return say`stored objects may have ${place}, which is no longer declared`
    case 'field-required':
      return reason.default === undefined
        ? say`stored objects may lack ${place}`
        : say`stored objects may lack ${place} until a write sets its default`
    case 'unique-added':
      return say`stored objects may share the same ${place}`
    case 'reference-added':
      return say`stored objects may have a ${place} that names no stored object`
    case 'resource-removed':
      return say`no request reaches the stored objects, which stay in the database`
    default: {
      const values = lost ?? (value === undefined ? [] : [value])
      return values.length === 0
        ? say`stored objects may have a ${place} that no longer fits`
        : say`stored objects may have ${valuesText(values)} as ${place}, which no longer fits`
    }
  }
}

// Where a schema file says what a change is about.

type UnplacedParts = { readonly [K in 'path' | 'route']: Unplaced[K] | undefined }

/** The nearest part of the file that still exists. */
function placeOf(file: SchemaFile, { path = [], route }: UnplacedParts): Place {
  return file.place(route === undefined ? schemaPath(file, path) : routePlace(file, route))
}

function routePlace({ json }: SchemaFile, route: string): Path {
  const routes = (json as { 'x-resource': { routes: readonly { path: string }[] } })['x-resource'].routes
  const index = routes.findIndex(({ path }) => path === route)
  return index < 0 ? ['x-resource', 'routes'] : ['x-resource', 'routes', index]
}

/** The way through `properties` and `items`, as far as the schema has them itself. */
function schemaPath({ json }: SchemaFile, path: readonly string[]): Path {
  let [schema, found]: [Json | undefined, Path] = [json, []]
  for (const key of path) {
    const step = stepFrom(schema, key)
    if (step === undefined) return found.length === 0 ? ['properties'] : found
    found = [...found, ...step]
    schema = step.reduce<Json | undefined>((one, part) => (one as Readonly<Record<string, Json>>)[part], schema)
  }
  return found
}

function stepFrom(schema: Json | undefined, key: string): readonly string[] | undefined {
  if (!isObject(schema)) return undefined
  if (isObject(schema.properties) && Object.hasOwn(schema.properties, key)) return ['properties', key]
  return key === '*' && schema.items !== undefined ? ['items'] : undefined
}
