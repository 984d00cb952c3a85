/**
 * Writes the complete matrix of a policy to new files, or only the cells that the matrices of a folder don't state.
 * A planned matrix as text: one file for each resource, and the bodies that it sends. The same policy gives the same text.
 * Existing files of a folder stay unless they may be replaced.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { byText } from '../../../base/by-text.ts'
import { didYouMean } from '../../../base/did-you-mean.ts'
import { type NewFile, takenNames, tryFolder, writeNew } from '../../../base/files/new-files.ts'
import { orTell, ToolError } from '../../load-policy.ts'
import { replaceAll } from '../../release/folder/replace-all.ts'
import { statedIn } from '../cells/survey.ts'
import type { Cell } from '../predict/cell-fixture.ts'
import { readPredictedSuite } from '../predict/suite.ts'
import { columnText, expectedText, type MatrixColumn, objectText, whenText } from '../read/expectation.ts'
import { BODIES, lineOf } from '../read/matrix-file.ts'
import { parseColumn, transitionText } from '../read/words.ts'
import { columnsFor, everywhere, type Plan, type PlannedRow, planMatrix } from './plan-matrix.ts'

interface NewMatrix {
  readonly policies: string
  readonly schemas: string
  /** The folder of the matrices. */
  readonly out: string
  readonly missing: boolean
  readonly force: boolean
  /** The columns; if empty, those of the policy. */
  readonly role: readonly string[]
}

/** The files that were written. Throws FileError and ToolError. */
export async function initMatrix(asked: NewMatrix): Promise<readonly string[]> {
  const { out, missing, force, role } = asked
  // The plan of a large policy takes long.
  if (!missing) await orTell(out, () => tryFolder(out))
  const matrices = (await isFolder(out)) ? [out] : []
  const suite = await readPredictedSuite({ ...asked, matrices }, Date.now())
  const named = role.map((name) => columnOf(name, suite.evaluated.policy.roles))
  const columns = named.length > 0 ? named.flatMap(everywhere) : columnsFor(suite)
  const plan = await planMatrix(suite, columns, missing ? statedIn(suite) : () => false)
  const files = missing ? writeMissing(plan, await textsIn(out)) : writeMatrix(plan, '')
  return orTell(out, () => (force && !missing ? storeOver(out, files) : storeNew(out, files)))
}

function columnOf(name: string, roles: ReadonlyMap<string, unknown>): MatrixColumn {
  const parsed = parseColumn(name)
  if (parsed.kind !== 'parsed') throw new ToolError(`--role: ${parsed.message}; ${parsed.hint}`)
  const column = parsed.value
  const unknown = column.kind === 'roles' ? column.roles.find((role) => !roles.has(role)) : undefined
  if (unknown === undefined) return column
  throw new ToolError(
    `\`${unknown}\` is not a role of roles.yaml; --role takes anonymous, ` +
      `${[...roles.keys()].join(', ')}${didYouMean(unknown, roles.keys())}`,
  )
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() ?? false
}

/** `ending` stands before `.csv`, as in `orders.missing.csv`. In the order of the names. */
export function writeMatrix({ columns, rows }: Plan, ending: string): readonly NewFile[] {
  const matrices = [...Map.groupBy(rows, ({ routeMethod }) => routeMethod.resource.name)].map(([resource, about]) => {
    const name = `${resource.replaceAll('/', '-')}${ending}.csv`
    const written = about.toSorted(byPath).map(({ routeMethod, body, ...row }) => {
      return { ...row, path: routeMethod.route.path, file: body?.file }
    })
    return { name, text: matrixText(columns, written) }
  })
  const bodies = new Map(rows.flatMap(({ body }) => (body ? [[`${BODIES}/${body.file}`, body.content] as const] : [])))
  const files = [...bodies].map(([name, content]) => ({ name, text: bodyText(content) }))
  return [...matrices, ...files].toSorted((a, b) => byText(a.name, b.name))
}

/**
 * The same, without changing existing files of a folder: names that are taken get a number, and an existing body with
 * the same text is used again. `there`: the texts of the folder's files, by their names within it.
 */
export function writeMissing(plan: Plan, there: ReadonlyMap<string, string>): readonly NewFile[] {
  const rows = plan.rows.map((row) => {
    if (!row.body) return row
    const text = bodyText(row.body.content)
    const file = numbered(row.body.file, (name) => (there.get(`${BODIES}/${name}`) ?? text) === text)
    return { ...row, body: { ...row.body, file } }
  })
  return writeMatrix({ ...plan, rows }, '.missing')
    .filter(({ name, text }) => !name.startsWith(`${BODIES}/`) || there.get(name) !== text)
    .map(({ name, text }) => ({ name: numbered(name, (free) => !there.has(free)), text }))
}

/** The name itself, or with the first number from 2 on that makes it acceptable: `orders.missing-2.csv`. */
function numbered(name: string, isFree: (name: string) => boolean): string {
  for (let i = 1; ; i++) {
    const numberedName = i === 1 ? name : name.replace(/(?=\.[a-z]+$)/, `-${i}`)
    if (isFree(numberedName)) return numberedName
  }
}

function bodyText(content: unknown): string {
  return `${JSON.stringify(content)}\n`
}

interface RowToWrite
  extends Pick<Cell, 'path' | 'object' | 'event' | 'when' | 'becomes'>,
    Pick<PlannedRow, 'methods' | 'answers'> {
  /** The body that it sends, if that isn't the smallest one. */
  readonly file: string | undefined
}

/** Columns that stand only where some row needs them. */
const OPTIONAL: readonly { readonly head: string; readonly of: (row: RowToWrite) => string }[] = [
  { head: 'event', of: ({ event = '' }) => event },
  { head: 'when', of: whenText },
  { head: 'becomes', of: transitionText },
  { head: 'body', of: ({ file = '' }) => file },
]

export function matrixText(callers: Plan['columns'], rows: readonly RowToWrite[]): string {
  const used = OPTIONAL.filter(({ of }) => rows.some((row) => of(row) !== ''))
  const head = ['method', 'path', 'object', ...used.map((one) => one.head), ...callers.map(columnText)]
  const lines = rows.map((row) => [
    ...[row.methods.join('|'), row.path, objectText(row.object)],
    ...used.map(({ of }) => of(row)),
    ...row.answers.map((answer) => (answer ? expectedText(answer) : '-')),
  ])
  return [head, ...lines].map(lineOf).join('')
}

/** Rows of one path stay in the order of methods and objects. */
function byPath(a: PlannedRow, b: PlannedRow): number {
  return byText(a.routeMethod.route.path, b.routeMethod.route.path)
}

/**
 * Returns the paths written. If a file exists already, throws ToolError, which says what the user of the command can do.
 * When it throws, nothing is left.
 */
export async function storeNew(
  folder: string,
  files: readonly NewFile[],
  whatToDo = 'write to another folder with --out, or replace it with --force',
): Promise<readonly string[]> {
  const names = await takenNames(
    folder,
    files.map(({ name }) => name),
  )
  const taken = names.map((name) => `\`${join(folder, name)}\``)
  if (taken.length > 0) {
    throw new ToolError(`${taken.join(', ')} would be overwritten: ${whatToDo}`)
  }
  if (files.length > 0) await orTell(folder, () => writeNew(folder, files))
  return pathsOf(folder, files)
}

/** The same, but replaces existing files. */
export async function storeOver(folder: string, files: readonly NewFile[]): Promise<readonly string[]> {
  await replaceAll(folder, files)
  return pathsOf(folder, files)
}

function pathsOf(folder: string, files: readonly NewFile[]): readonly string[] {
  return files.map(({ name }) => join(folder, name))
}

/** The texts of a folder's matrices and bodies, by their names within it; none where there is no folder. */
export async function textsIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await Promise.all(['', BODIES].map((inside) => filesIn(folder, inside)))).flat()
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  return new Map(names.map((name, i) => [name, texts[i] ?? '']))
}

async function filesIn(folder: string, inside: string): Promise<readonly string[]> {
  const found = await readdir(join(folder, inside), { withFileTypes: true }).catch(() => [])
  return found.filter((one) => one.isFile() && /\.(?:csv|json)$/.test(one.name)).map(({ name }) => join(inside, name))
}
