/** Adds a resource to a project: its schema, the policy lines of a pattern, and its matrix. Nothing is half added. */
import { join } from 'node:path'
import { type NewFile, takenNames, writeNew } from '../../base/files/new-files.ts'
import type { Policy } from '../../decide/policy.ts'
import { USERS } from '../../decide/policy.ts'
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import type { PolicyFiles, RequiredFileName } from '../../policy/policy-files.ts'
import { CURRENT } from '../../policy/policy-folder.ts'
import { loadSchemas, parseResources } from '../../resources/load/load-resources.ts'
import type { Resources } from '../../resources/resource.ts'
import { loadPolicy, ToolError } from '../load-policy.ts'
import { columnsFor, planMatrix } from '../matrix/init/plan-matrix.ts'
import { storeNew } from '../matrix/init/store-matrix.ts'
import { writeMatrix } from '../matrix/init/write-matrix.ts'
import { readPredictedSuite } from '../matrix/predict/suite.ts'
import { replaceAll } from '../release/folder/replace-all.ts'
import { orTell } from './make-project.ts'
import { packageFiles } from './package-files.ts'

/** Each is a folder of templates/resources/. */
export type Pattern = 'own' | 'team' | 'public-read'

export interface NewResource {
  readonly resource: string
  readonly pattern: Pattern
  /** The role that works with the objects. */
  readonly role: string
  readonly policies: string
  readonly schemas: string
  readonly matrices: string
}

/** The lines that a pattern adds to each file of a policy. */
const ADDED: Readonly<Record<string, RequiredFileName>> = {
  'ownership.yaml': 'ownership.yaml',
  'views.yaml': 'views.yaml',
  'rules.csv': 'policy.csv',
}

/** The paths of the files that were made or changed. Throws FileError and ToolError; then nothing is changed. */
export async function addResource(wish: NewResource): Promise<readonly string[]> {
  const { resource, policies, schemas, role } = wish
  await refuseTaken(wish)
  const { resources, sources } = await loadSchemas(schemas)
  const { policy, files } = await loadPolicy(policies, resources)
  if (!policy.roles.has(role)) {
    throw new ToolError(
      `${JSON.stringify(role)} is not a role of roles.yaml: name one with --role: ${[...policy.roles.keys()].join(', ')}`,
    )
  }
  const parts = await partsOf(wish, hasTenants(policy))
  const schema = parts.get('schema.json') ?? ''
  const next = changedFiles(files, parts)
  const known = parseResources([...sources, { name: join(schemas, `${resource}.json`), text: schema }])
  refuseFaults(next, known)
  return orTell('the project', () => write(wish, { schema, files, next }))
}

async function refuseTaken({ resource, policies, schemas }: NewResource): Promise<void> {
  if (!/^[a-z][a-z0-9-]{0,49}$/.test(resource)) {
    throw new ToolError(
      `${JSON.stringify(resource)} can't be the name of a resource here: use small letters, digits and -, like \`tickets\``,
    )
  }
  const [taken] = await takenNames(schemas, [`${resource}.json`])
  if (taken !== undefined) throw new ToolError(`${join(schemas, taken)} exists already: choose another name`)
  const [current] = await takenNames(policies, [CURRENT])
  if (current !== undefined) {
    throw new ToolError(
      `${policies} holds versions that \`policy apply\` put in force: ` +
        'add the resource to the folder that you apply, and name it with --policies',
    )
  }
}

/** Whether users have tenants, which rules keep apart: then each resource declares its tenant. */
function hasTenants({ ownership }: Policy): boolean {
  return ownership.get(USERS)?.relations.has('tenant') ?? false
}

async function partsOf(
  { resource, pattern, role }: NewResource,
  tenants: boolean,
): Promise<ReadonlyMap<string, string>> {
  const values: Readonly<Record<string, string>> = { resource, role, title: titleOf(resource) }
  const files = await packageFiles(`templates/resources/${pattern}`)
  const texts = files.map(({ name, text }) => {
    return [name, text.replaceAll(/\{\{(\w+)\}\}/g, (all, key: string) => values[key] ?? all)] as const
  })
  return new Map(texts.map(([name, text]) => [name, tenants ? withTenant(name, text) : text]))
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

/** New rules stand before the last comment of policy.csv, which marks its end; the other files grow at their ends. */
function changedFiles(files: PolicyFiles, parts: ReadonlyMap<string, string>): PolicyFiles {
  const next: Record<string, NewFile | undefined> = { ...files }
  for (const [part, file] of Object.entries(ADDED)) {
    const added = parts.get(part)
    if (added === undefined) continue
    const { name, text } = files[file]
    const whole = text === '' || text.endsWith('\n') ? text : `${text}\n`
    const end = file === 'policy.csv' ? (/\n(?:#.*\n)+$/.exec(whole)?.index ?? -1) + 1 : 0
    const at = end > 0 ? end : whole.length
    next[file] = { name, text: `${whole.slice(0, at)}${file === 'policy.csv' ? '\n' : ''}${added}${whole.slice(at)}` }
  }
  return next as PolicyFiles
}

/** Throws FileError: what would be written has to be right. */
function refuseFaults(next: PolicyFiles, known: Resources): void {
  parsePolicy(next, known)
}

interface Change {
  readonly schema: string
  readonly files: PolicyFiles
  readonly next: PolicyFiles
}

async function write(wish: NewResource, { schema, files, next }: Change): Promise<readonly string[]> {
  const { resource, policies, schemas, matrices } = wish
  const changed = Object.values(ADDED).filter((name) => files[name].text !== next[name].text)
  const file = { name: `${resource}.json`, text: schema }
  let made: readonly string[] = []
  await writeNew(schemas, [file], async () => {
    const later = changed.map((name) => ({ name, text: next[name].text }))
    made = await replaceAll(policies, later, async () => storeNew(matrices, await matrixOf(wish)))
  })
  return [join(schemas, file.name), ...changed.map((name) => join(policies, name)), ...made]
}

/** The present answers about the new resource alone. */
async function matrixOf({ resource, policies, schemas }: NewResource): Promise<readonly NewFile[]> {
  const suite = await readPredictedSuite({ policies, schemas, matrices: [] }, Date.now())
  const plan = planMatrix(suite, columnsFor(suite), () => false)
  const rows = plan.rows.filter(({ routeMethod }) => routeMethod.resource.name === resource)
  return writeMatrix({ ...plan, rows }, '')
}
