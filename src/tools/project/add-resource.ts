/**
 * Adds a resource to a project: its schema, the policy lines of a pattern, and its matrix. A killed command leaves some
 * of these files, each of them whole; then the same command adds the others.
 */
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { FileError } from '../../base/diagnostic.ts'
import { type GoOn, type NewFile, removeUnfinished, takenNames, whole, writeNew } from '../../base/files/new-files.ts'
import { writingPlace } from '../../base/files/project-file.ts'
import { type Policy, USERS } from '../../decide/policy.ts'
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import type { PolicyFiles, RequiredFileName } from '../../policy/policy-files.ts'
import { loadSchemas, parseResources } from '../../resources/load/load-resources.ts'
import type { SourceText } from '../../resources/schema/schema-file.ts'
import { orTell, readPlace, refuseNoDirectory, ToolError } from '../load-policy.ts'
import { sampleResources } from '../matrix/fixture/samples.ts'
import { columnsFor, planMatrix } from '../matrix/init/plan-matrix.ts'
import { storeNew, writeMatrix } from '../matrix/init/write-matrix.ts'
import { predictedSuite } from '../matrix/predict/suite.ts'
import { BODIES } from '../matrix/read/matrix-file.ts'
import { VERSIONS } from '../release/folder/layout.ts'
import { withLock } from '../release/folder/lock.ts'
import { replaceAll } from '../release/folder/replace-all.ts'
import { packageFiles } from './package-files.ts'

/** Where a matrix of the resource is there already. */
const WAY_OUT = 'move it away, or write to another folder with --matrices'

export interface EditedFolders {
  readonly policies: string
  readonly schemas: string
  readonly matrices: string
}

export interface NewResource extends PatternWish, EditedFolders {}

/** The paths of the files that were made or changed. Throws FileError and ToolError; then nothing is changed. */
export async function addResource(wish: NewResource): Promise<readonly string[]> {
  if (!/^[a-z][a-z0-9-]{0,49}$/.test(wish.resource)) {
    throw new ToolError(
      `${JSON.stringify(wish.resource)} can't be the name of a resource here: use small letters, digits and -, like \`tickets\``,
    )
  }
  return addToProject(wish, () => planAdditions(wish))
}

/** The same for any additions, which are planned while no other command changes the policy. Throws LinkOut, too. */
export async function addToProject(folders: EditedFolders, plan: () => Promise<Additions>): Promise<readonly string[]> {
  const { policies, schemas, matrices } = folders
  for (const folder of [policies, schemas, matrices]) await writingPlace(folder)
  await refuseVersions(folders)
  // The lock is a file in a folder that has to be there.
  await loadSchemas(schemas)
  await refuseNoDirectory(policies)
  const add = async (goOn: GoOn) => {
    for (const folder of [policies, schemas, matrices, join(matrices, BODIES)]) await removeUnfinished(folder)
    const additions = await plan()
    await goOn()
    return orTell('the project', () => write(folders, additions))
  }
  return whole((goOn) => withLock(policies, () => add(goOn)))
}

async function refuseVersions({ policies }: EditedFolders): Promise<void> {
  const [versions] = await takenNames(policies, [VERSIONS])
  if (versions !== undefined) {
    throw new ToolError(
      `${policies} holds versions that \`policy apply\` put in force: ` +
        'add to the folder that you apply, and name it with --policies',
    )
  }
}

/**
 * What isn't there yet, in the order of writing. The project works with the first of these files alone, with the first
 * two, and so on; but a rule about a relation of all resources refuses a schema whose relations aren't written yet.
 */
export interface Additions {
  readonly schemas: readonly NewFile[]
  readonly policies: readonly NewFile[]
  readonly matrices: readonly NewFile[]
}

async function planAdditions(wish: NewResource): Promise<Additions> {
  const { resource, policies, schemas, role } = wish
  const { sources } = await loadSchemas(schemas)
  const files = (await readPlace(policies)).files()
  const name = `${resource}.json`
  const others = sources.filter((source) => basename(source.name) !== name)
  const policy = parseBegun(files, sources, others)
  if (!policy.roles.has(role)) {
    throw new ToolError(
      `${JSON.stringify(role)} is not a role of roles.yaml: name one with --role: ${[...policy.roles.keys()].join(', ')}`,
    )
  }
  const parts = await partsOfPattern(wish, policy)
  const schema = { name, text: parts.get('schema.json') ?? '' }
  const changed = changedFiles(files, parts)
  const matrix = () => {
    const all = [...others, { name: join(schemas, name), text: schema.text }]
    return matrixOf(wish, all, { ...files, ...Object.fromEntries(changed.map((file) => [file.name, file])) })
  }
  const [taken] = await takenNames(schemas, [name])
  if (taken === undefined) return { schemas: [schema], policies: changed, matrices: await matrix() }
  const isBegun = (await readFile(join(schemas, name), 'utf8')) === schema.text && !mentions(files, changed, resource)
  const matrices = isBegun ? await missingOf(wish, await matrix()) : []
  if (isBegun && changed.length + matrices.length > 0) return { schemas: [], policies: changed, matrices }
  throw new ToolError(`${join(schemas, name)} exists already: choose another name`)
}

/** A policy that doesn't know the new schema may be refused with it. Throws FileError. */
function parseBegun(files: PolicyFiles, sources: readonly SourceText[], others: readonly SourceText[]): Policy {
  try {
    return parsePolicy(files, parseResources(sources))
  } catch (error) {
    if (!(error instanceof FileError) || others.length === sources.length) throw error
    return parsePolicy(files, parseResources(others))
  }
}

/** The answers about the new resource alone, bodies first. Throws FileError: what would be written has to be right. */
async function matrixOf(
  { resource, policies, schemas }: NewResource,
  sources: readonly SourceText[],
  files: PolicyFiles,
) {
  const resources = parseResources(sources)
  const samples = sampleResources(resources)
  const read = { folders: { policies, schemas }, files, resources, samples, bodies: new Map() }
  const predicted = predictedSuite({ ...read, policy: parsePolicy(files, resources) }, Date.now())
  const suite = { ...predicted, expectations: [], cases: [] }
  const plan = await planMatrix(suite, columnsFor(suite), () => false)
  const rows = plan.rows.filter(({ routeMethod }) => routeMethod.resource.name === resource)
  const written = writeMatrix({ ...plan, rows }, '')
  return written.toSorted((a, b) => Number(dirname(a.name) === '.') - Number(dirname(b.name) === '.'))
}

async function missingOf({ matrices }: NewResource, files: readonly NewFile[]): Promise<readonly NewFile[]> {
  const isThere = async ({ name, text }: NewFile) =>
    (await readFile(join(matrices, name), 'utf8').catch(() => undefined)) === text
  const there = await Promise.all(files.map(isThere))
  return files.filter((_, i) => !there[i])
}

async function write(folders: EditedFolders, additions: Additions): Promise<readonly string[]> {
  const { policies, schemas, matrices } = folders
  let made: readonly string[] = []
  await writeNew(schemas, additions.schemas, async () => {
    const others = () => storeNew(matrices, additions.matrices, WAY_OUT)
    made = await replaceAll(policies, additions.policies, others)
  })
  return [
    ...additions.schemas.map(({ name }) => join(schemas, name)),
    ...additions.policies.map(({ name }) => join(policies, name)),
    ...made,
  ]
}

// ---- What a pattern adds to a project: a schema, and lines in the files of the policy.

/** Each is a folder of templates/resources/. */
export type ResourcePattern = 'own' | 'team' | 'public-read'

interface PatternWish {
  readonly resource: string
  readonly pattern: ResourcePattern
  /** The role that works with the objects. */
  readonly role: string
}

/** The lines that a pattern adds to each file of a policy, in the order of the files: each needs those before it. */
const ADDED: Readonly<Record<string, RequiredFileName>> = {
  'roles.yaml': 'roles.yaml',
  'ownership.yaml': 'ownership.yaml',
  'views.yaml': 'views.yaml',
  'rules.csv': 'policy.csv',
}

/** Texts by their names in the folder of the pattern. */
export type FilledParts = ReadonlyMap<string, string>

async function partsOfPattern({ resource, pattern, role }: PatternWish, policy: Policy): Promise<FilledParts> {
  const values: Readonly<Record<string, string>> = { resource, role, title: titleOf(resource) }
  const parts = await filledParts(`templates/resources/${pattern}`, values)
  return new Map([...parts].map(([name, text]) => [name, hasTenants(policy) ? withTenant(name, text) : text]))
}

/** Whether users have tenants, which rules keep apart: then each resource declares its tenant. */
function hasTenants({ ownership }: Policy): boolean {
  return ownership.get(USERS)?.relations.has('tenant') ?? false
}

/** The files of a folder of templates, with these values in their places. */
export async function filledParts(folder: string, values: Readonly<Record<string, string>>): Promise<FilledParts> {
  const files = await packageFiles(folder)
  const filled = (text: string) => text.replaceAll(/\{\{(\w+)\}\}/g, (all, key: string) => values[key] ?? all)
  return new Map(files.map(({ name, text }) => [name, filled(text)]))
}

function titleOf(resource: string): string {
  const words = resource.replace(/s$/, '').replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const TENANT = `    "tenantId": {
      "description": "The tenant of the caller when not given.",
      "type": "string",
      "minLength": 1,
      "maxLength": 128,
      "x-index": true
    },
`

function withTenant(name: string, text: string): string {
  if (name === 'schema.json') return text.replace(/(?=^ {4}"ownerId":)/m, TENANT)
  if (name !== 'ownership.yaml') return text
  return `${text}    tenant: { field: tenantId, equals: subject.tenant, fill: true }\n`
}

/** The files that lack their lines, with them. */
export function changedFiles(files: PolicyFiles, parts: FilledParts): readonly NewFile[] {
  return Object.entries(ADDED).flatMap(([part, name]) => {
    const added = parts.get(part)
    const { text } = files[name]
    return added === undefined || text.includes(added) ? [] : [{ name, text: withLines(name, text, added) }]
  })
}

/** New rules stand before the last comment of policy.csv, which marks its end; the other files grow at their ends. */
function withLines(name: RequiredFileName, text: string, added: string): string {
  const whole = text === '' || text.endsWith('\n') ? text : `${text}\n`
  const end = name === 'policy.csv' ? (/\n(?:#.*\n)+$/.exec(whole)?.index ?? -1) + 1 : 0
  const at = end > 0 ? end : whole.length
  return `${whole.slice(0, at)}${name === 'policy.csv' ? '\n' : ''}${added}${whole.slice(at)}`
}

/** Whether a file that lacks its lines mentions the resource: then somebody has changed these lines. */
function mentions(files: PolicyFiles, changed: readonly NewFile[], resource: string): boolean {
  const word = new RegExp(`(?<![\\w-])${resource}(?![\\w-])`)
  const lines = changed.flatMap(({ name }) => files[name as RequiredFileName].text.split('\n'))
  return lines.some((line) => !line.startsWith('#') && word.test(line))
}
