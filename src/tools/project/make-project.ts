/** Makes a project in a folder (`sallyport init`, `npm create sallyport`), or copies the demo's files into one. */
import { join } from 'node:path'
import { type NewFile, takenNames, writeNew } from '../../base/files/new-files.ts'
import { orTell, ToolError } from '../load-policy.ts'
import { columnsFor, planMatrix } from '../matrix/init/plan-matrix.ts'
import { storeNew, writeMatrix } from '../matrix/init/write-matrix.ts'
import { readPredictedSuite } from '../matrix/predict/suite.ts'
import { packageFiles, packageVersion } from './package-files.ts'

/** Where the commands look for matrices. */
const MATRICES = 'test/matrix'

/** Throws ToolError if one of the files exists; then nothing is written. */
export async function makeProject(folder: string, wishes: ProjectWishes): Promise<void> {
  const { files, hasMatrices } = await planProject(wishes)
  const names = files.map(({ name }) => name)
  const taken = await takenNames(folder, hasMatrices ? names : [...names, MATRICES])
  if (taken.length > 0) {
    const first = taken.slice(0, 5).map((name) => `\`${name}\``)
    throw new ToolError(
      `${folder} has ${first.join(', ')} already, and nothing was written: ` +
        'name a new directory, or remove what would be replaced',
    )
  }
  await orTell(folder, () => writeNew(folder, files, hasMatrices ? undefined : writeMatrices))
}

/** States every answer of the new policy. */
async function writeMatrices(folder: string): Promise<void> {
  const folders = { policies: join(folder, 'policies'), schemas: join(folder, 'schemas') }
  const suite = await readPredictedSuite({ ...folders, matrices: [] }, Date.now())
  await storeNew(join(folder, MATRICES), writeMatrix(await planMatrix(suite, columnsFor(suite), () => false), ''))
}

// ---- The policy and the schemas of the demo, copied so that they can be changed.

const FOLDERS = ['schemas', 'policies']

/** Throws ToolError if the folder has one of the two already; then nothing is written. */
export async function ejectDemo(folder: string): Promise<readonly string[]> {
  const taken = await takenNames(folder, FOLDERS)
  if (taken.length > 0) {
    throw new ToolError(
      `${folder} has ${taken.map((name) => `\`${name}/\``).join(' and ')} already, and nothing was written: ` +
        'name another directory',
    )
  }
  const files = (await Promise.all(FOLDERS.map((name) => packageFiles(name, name)))).flat()
  await orTell(folder, () => writeNew(folder, files.map(inProject)))
  return FOLDERS
}

// ---- The files of a new project: its schemas, its policies, and what is around them.

export interface ProjectWishes {
  /** A name of npm, without a scope. */
  readonly name: string
  /** With the resources of the demo in place of users alone. */
  readonly demo: boolean
  /** With a wall between tenants. */
  readonly tenants: boolean
}

interface ProjectStart {
  /** Where the package has `schemas/`, `policies/` and perhaps matrices. */
  readonly from: string
  readonly matrices?: string
  /** What `npm test` wants the matrices to cover. */
  readonly coverage: string
  readonly serve: string
}

/** With matrices that were written by hand; the others' are made from the policy (`matrix init`). */
const SHIPPED: ProjectStart = { from: '.', matrices: 'test/matrix', coverage: '--min 100', serve: ' --demo' }
const PROJECTS: ProjectStart = {
  from: 'examples/projects',
  matrices: 'examples/projects/matrices',
  coverage: '--min-rules 90',
  serve: '',
}
const TEMPLATES = 'templates/'
const EMPTY: ProjectStart = { from: `${TEMPLATES}empty`, coverage: '--min 100', serve: '' }
const TENANTS: ProjectStart = { from: `${TEMPLATES}tenants`, coverage: '--min 100', serve: '' }

interface PlannedProject {
  readonly files: readonly NewFile[]
  /** Whether the matrices are among the files. */
  readonly hasMatrices: boolean
}

async function planProject({ name, demo, tenants }: ProjectWishes): Promise<PlannedProject> {
  const start = demo ? (tenants ? PROJECTS : SHIPPED) : tenants ? TENANTS : EMPTY
  const values = { name, version: `^${await packageVersion()}`, serve: start.serve, coverage: start.coverage }
  const around = (await packageFiles(`${TEMPLATES}project`)).map((file) => filled(file, values))
  const schemas = await packageFiles(`${start.from}/schemas`, 'schemas')
  const policies = await policiesOf(start.from)
  return {
    files: [...around, ...schemas, ...policies, ...(await matricesOf(start))],
    hasMatrices: start.matrices !== undefined,
  }
}

/** What the templates don't say is as in the demo: the limits, the Casbin model, and the first lines of each file. */
async function policiesOf(from: string): Promise<readonly NewFile[]> {
  const shipped = await packageFiles('policies', 'policies')
  const own = new Map((await packageFiles(`${from}/policies`, 'policies')).map((file) => [file.name, file]))
  const shared = shipped.map((file) => {
    const found = own.get(file.name)
    return found === undefined ? file : from.startsWith(TEMPLATES) ? withHead(found, file) : found
  })
  const others = [...own.values()].filter(({ name }) => !shipped.some((file) => file.name === name))
  return [...shared, ...others].map(inProject)
}

const HEAD = /^(?:#.*\n)*/

/** Templates have no head, so that there is one text of it. */
function withHead(file: NewFile, { text }: NewFile): NewFile {
  const head = HEAD.exec(text)?.[0] ?? ''
  return { ...file, text: file.name.endsWith('.csv') ? `${head}\n${file.text}` : `${head}${file.text}` }
}

/** Editors find the JSON Schemas in the installed package. */
function inProject({ name, text }: NewFile): NewFile {
  return { name, text: text.replace(/(\$schema=)(?:\.\.\/)+src\//, '$1../node_modules/sallyport/src/') }
}

async function matricesOf({ matrices }: ProjectStart): Promise<readonly NewFile[]> {
  if (matrices === undefined) return []
  const files = await packageFiles(matrices, 'test/matrix')
  return files
    .filter(({ name }) => /\.(?:csv|json|yaml)$/.test(name))
    .map(({ name, text }) => ({
      name,
      text: text.replace(/(\$schema=)(?:\.\.\/)+docs\//, '$1../../node_modules/sallyport/docs/'),
    }))
}

function filled({ name, text }: NewFile, values: Readonly<Record<string, string>>): NewFile {
  return { name, text: text.replaceAll(/\{\{(\w+)\}\}/g, (all, key: string) => values[key] ?? all) }
}
