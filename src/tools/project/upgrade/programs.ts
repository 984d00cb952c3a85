/**
 * Asks an earlier and this version of the program, each in a process of its own that is told to write nothing, and
 * compares what they print: faults of the project's files, and each cell of the access matrix.
 */
import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { environment } from '../../../base/command-process.ts'
import { byPlace, type Diagnostic, FileError, formatDiagnostic } from '../../../base/diagnostic.ts'
import { isObject } from '../../../base/is-object.ts'
import { readMigrations } from '../../../migrations/file/read-migrations.ts'
import { printable } from '../../../present/quote.ts'
import { orFaults } from '../../load-policy.ts'
import { readCases } from '../../matrix/read/cases.ts'
import { findMatrixFiles, readMatrices } from '../../matrix/read/read-matrices.ts'
import type {
  AnswerBounds,
  CellAnswer,
  CellChange,
  ProgramPackage,
  RouteChange,
  Undecided,
  UpgradeFinding,
  UpgradeReport,
  UpgradeSides,
} from './report.ts'

const MOST = 200
const MOST_CHARACTERS = 500

type ProgramAnswer = { readonly value: unknown } | { readonly failure: string }

/** What a command prints as JSON. Exit codes 0 and 1 are answers. Beyond its bounds, the program is killed. */
export function askProgram(
  { root, version }: ProgramPackage,
  words: readonly string[],
  { milliseconds, bytes }: AnswerBounds,
): Promise<ProgramAnswer> {
  const args = [join(root, 'bin/sallyport.js'), ...words, '--format', 'json']
  // Compiled code would be kept in the project's node_modules.
  const env = { ...environment(), NODE_DISABLE_COMPILE_CACHE: '1', NO_COLOR: '1' }
  const options = { env, maxBuffer: bytes, timeout: milliseconds, killSignal: 'SIGKILL' } as const
  const name = `\`${words.slice(0, 2).join(' ')}\` of ${version}`
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, options, (error, stdout, stderr) => {
      if (error?.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') {
        return resolve({ failure: `${name} printed more than ${bytes} bytes` })
      }
      if (error?.killed) return resolve({ failure: `${name} gave no answer in ${milliseconds / 1000} s` })
      if (error && error.code !== 1) return resolve({ failure: `${name} failed: ${reasonIn(stderr)}` })
      try {
        resolve({ value: JSON.parse(stdout) })
      } catch {
        resolve({ failure: `${name} printed no JSON` })
      }
    })
    child.stdin?.end()
  })
}

function reasonIn(stderr: string): string {
  const line = stderr.split('\n').find((one) => one.trim() !== '') ?? 'it gave no reason'
  return printable(line.replace(/^sallyport: /, '')).slice(0, MOST_CHARACTERS)
}

async function askBoth(sides: UpgradeSides, words: readonly string[]) {
  const [old, young] = await Promise.all([sides.old, sides.new].map((side) => askProgram(side, words, sides.bounds)))
  return { old: answerValue(old), new: answerValue(young), failures: [old, young].flatMap(failureOf) }
}

function answerValue(answer: ProgramAnswer | undefined): unknown {
  return answer && 'value' in answer ? answer.value : undefined
}

function failureOf(answer: ProgramAnswer | undefined): readonly string[] {
  return answer && 'failure' in answer ? [answer.failure] : []
}

/** Faults under the new version, and warnings that the old one doesn't give. */
export async function compareFindings(
  sides: UpgradeSides,
): Promise<Pick<UpgradeReport, 'findings' | 'moreFindings' | 'undecided'>> {
  const { schemas, policies } = sides.project
  const asked = await Promise.all([
    compareCheck(sides, ['schema', 'check', schemas]),
    compareCheck(sides, ['policy', 'check', policies, '--schemas', schemas]),
  ])
  const all = [...asked.flatMap(({ findings }) => findings), ...(await readByThisVersion(sides))].sort(byPlace)
  // A row of a matrix may have one fault several times.
  const findings = [...new Map(all.map((one) => [formatDiagnostic(one), one])).values()]
  return {
    findings: findings.slice(0, MOST),
    moreFindings: Math.max(0, findings.length - MOST),
    undecided: asked.flatMap(({ failures }) => failures.map((reason) => ({ part: 'findings', reason }))),
  }
}

async function compareCheck(sides: UpgradeSides, words: readonly string[]) {
  const answers = await askBoth(sides, words)
  const [known, found] = [findingsIn(answers.old), findingsIn(answers.new)]
  const failures = answers.failures.length > 0 ? answers.failures : ['a command printed JSON of another shape']
  if (!found) return { findings: [], failures }
  // The messages may be in other words.
  const placeOf = ({ file, line, column, code }: Diagnostic) => JSON.stringify([file, line, column, code])
  const places = known && new Set(known.map(placeOf))
  const findings = found
    .map((one): UpgradeFinding => {
      return { ...one, before: places ? (places.has(placeOf(one)) ? 'found' : 'not-found') : 'unknown' }
    })
    // What the old version warns of too is no matter of the upgrade.
    .filter(({ severity, before }) => severity === 'error' || before !== 'found')
  // Without findings of the new version, there is nothing that the old version could say.
  return { findings, failures: known || findings.length === 0 ? [] : failures }
}

function findingsIn(answers: unknown): readonly Diagnostic[] | undefined {
  return isObject(answers) && Array.isArray(answers.findings) ? answers.findings : undefined
}

/** Matrices and migrations, which the old version can't check without running them. */
async function readByThisVersion({ project }: UpgradeSides): Promise<readonly UpgradeFinding[]> {
  const hasMatrices = (await stat(project.matrices).catch(() => undefined))?.isDirectory()
  const reads = [
    () => readMigrations(project.migrations),
    async () => hasMatrices && readMatrices((await findMatrixFiles([project.matrices])).matrices),
    async () => hasMatrices && readCases((await findMatrixFiles([project.matrices])).cases),
  ]
  const faults = await Promise.all(
    reads.map(async (read) => {
      const faults = await orFaults<unknown, FileError>(read, (error) => error)
      return faults instanceof FileError ? faults.diagnostics : []
    }),
  )
  return faults.flat().map((fault) => ({ ...fault, before: 'unknown' }))
}

/** More matrices than this would take minutes. */
const MOST_CONDITIONS = 12
const EFFECTS = ['widens', 'changes', 'narrows']

/**
 * Cells of the access matrix that the two versions decide differently: without conditions of the request, with each
 * alone, and with all together.
 */
export async function compareAccess(sides: UpgradeSides): Promise<Pick<UpgradeReport, 'decisions' | 'undecided'>> {
  const first = await compareMatrices(sides, [])
  const names = [...first.conditions].sort()
  const sets = [...names.slice(0, MOST_CONDITIONS).map((name) => [name]), ...(names.length > 1 ? [names] : [])]
  const all = [first]
  for (const holding of sets) {
    // Each further question could take its whole time too.
    if (all.at(-1)?.compared === 0) break
    all.push(await compareMatrices(sides, holding))
  }
  const changes = all.flatMap((one) => one.changes)
  const sorted = changes.toSorted((a, b) => EFFECTS.indexOf(a.effect) - EFFECTS.indexOf(b.effect))
  const untried =
    names.length > MOST_CONDITIONS ? [`only ${MOST_CONDITIONS} of ${names.length} conditions were tried alone`] : []
  const reasons = new Set([...untried, ...all.flatMap(({ undecided }) => undecided)])
  return {
    decisions: {
      compared: all.reduce((sum, { compared }) => sum + compared, 0),
      changes: sorted.slice(0, MOST),
      more: Math.max(0, sorted.length - MOST),
      routes: first.routes,
    },
    undecided: [...reasons].map((reason): Undecided => ({ part: 'decisions', reason })),
  }
}

interface ComparedMatrices {
  /** How many cells both have. */
  readonly compared: number
  readonly changes: readonly CellChange[]
  readonly routes: readonly RouteChange[]
  readonly undecided: readonly string[]
  /** The conditions of the request on which cells depend. */
  readonly conditions: ReadonlySet<string>
}

async function compareMatrices(sides: UpgradeSides, holding: readonly string[]): Promise<ComparedMatrices> {
  const { policies, schemas } = sides.project
  const assumed = holding.length > 0 ? ['--with', holding.join('+')] : []
  // Both decide for one moment: a rule may end between the two runs.
  const words = ['policy', 'matrix', '--policies', policies, '--schemas', schemas, '--at', sides.at, ...assumed]
  const answers = await askBoth(sides, words)
  const [old, young] = [cellsIn(answers.old), cellsIn(answers.new)]
  if (!old || !young) {
    const undecided =
      answers.failures.length > 0 ? answers.failures : ['a version prints its access matrix in another shape']
    return { compared: 0, changes: [], routes: [], undecided, conditions: new Set() }
  }
  const both = [...old].flatMap(([key, before]) => {
    const after = young.get(key)
    return after ? [{ before, after }] : []
  })
  const [gone, added] = [only(old, young), only(young, old)]
  return {
    compared: both.length,
    changes: both.flatMap(({ before, after }) => changeOf(before, after, holding)),
    routes: [...routesOf('gone', gone.routes), ...routesOf('new', added.routes)],
    undecided: [...gone.cells, ...added.cells].map(
      ({ method, path, caller }) =>
        `only one version tells some objects of ${method} ${path}, or the caller ${caller}, from others`,
    ),
    conditions: new Set([...old.values(), ...young.values()].flatMap(({ answer }) => answer.conditions)),
  }
}

interface PrintedCell {
  readonly caller: string
  readonly method: string
  readonly path: string
  readonly relation: string
  readonly becomes?: string
  readonly answer: CellAnswer
}

/**
 * What any version prints, by what a cell is about; what an earlier one didn't print is left empty. Undefined for another
 * shape: then nothing can be said.
 */
function cellsIn(matrix: unknown): ReadonlyMap<string, PrintedCell> | undefined {
  if (!isObject(matrix) || !Array.isArray(matrix.rows)) return undefined
  const cells = matrix.rows.map(cellsOf)
  return cells.includes(undefined) ? undefined : new Map(cells.flatMap((some) => some ?? []))
}

function cellsOf(row: unknown): readonly (readonly [string, PrintedCell])[] | undefined {
  if (!isObject(row) || !isTexts(row.methods) || !Array.isArray(row.cells)) return undefined
  const { methods, path, action, object, relation, becomes, view } = row
  if (!isTexts([path, action, object, relation, ...row.cells.map((cell) => cell?.caller)])) return undefined
  const cells = row.cells.flatMap((cell) => {
    const answer = answerOf(cell)
    return methods.map((method) => {
      const about = { caller: cell.caller, method, path: String(path), relation: String(relation) }
      const key = JSON.stringify([about, action, object, becomes, view])
      return answer && ([key, { ...about, ...(typeof becomes === 'string' && { becomes }), answer }] as const)
    })
  })
  return cells.includes(undefined) ? undefined : cells.filter((cell) => cell !== undefined)
}

function answerOf(cell: unknown): CellAnswer | undefined {
  if (!isObject(cell)) return undefined
  const { outcome, granted, fields, conditions = [], rules = [] } = cell
  if (!isTexts([outcome, granted]) || !isTexts(fields) || !isTexts(conditions) || !Array.isArray(rules))
    return undefined
  return {
    outcome: String(outcome),
    granted: String(granted),
    fields,
    conditions,
    rules: rules.map((one) => one?.place),
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function changeOf({ answer: old, ...about }: PrintedCell, { answer: young }: PrintedCell, holding: readonly string[]) {
  // Which lines decide is no part of the answer.
  const textOf = ({ outcome, granted, fields, conditions }: CellAnswer) =>
    JSON.stringify([outcome, granted, fields.toSorted(), conditions.toSorted()])
  return textOf(old) === textOf(young) ? [] : [{ ...about, holding, effect: effectOf(old, young), old, new: young }]
}

function effectOf(before: CellAnswer, after: CellAnswer): CellChange['effect'] {
  const grants = ({ outcome, fields }: CellAnswer) => new Set(outcome === 'allowed' ? ['', ...fields] : [])
  const [had, has] = [grants(before), grants(after)]
  if (had.symmetricDifference(has).size === 0) return 'changes'
  if (had.isSubsetOf(has)) return 'widens'
  return has.isSubsetOf(had) ? 'narrows' : 'changes'
}

/** Cells that the other version lacks: of a route that it doesn't serve, and one for each route that it does. */
function only(own: ReadonlyMap<string, PrintedCell>, other: ReadonlyMap<string, PrintedCell>) {
  const routeOf = ({ method, path }: PrintedCell) => `${method} ${path}`
  const served = new Set([...other.values()].map(routeOf))
  const alone = [...own].flatMap(([key, cell]) => (other.has(key) ? [] : [cell]))
  const [cells, routes] = [true, false].map((isServed) =>
    alone.filter((cell) => served.has(routeOf(cell)) === isServed),
  )
  return { routes: routes ?? [], cells: new Map(cells?.map((cell) => [routeOf(cell), cell])).values().toArray() }
}

function routesOf(kind: RouteChange['kind'], cells: readonly PrintedCell[]): readonly RouteChange[] {
  const byRoute = Map.groupBy(cells, ({ method, path }) => `${method} ${path}`)
  const callersOf = ({ method, path }: PrintedCell) => {
    const allowed = byRoute.get(`${method} ${path}`)?.filter(({ answer }) => answer.outcome === 'allowed')
    return [...new Set(allowed?.map(({ caller }) => caller))]
  }
  const alike = Map.groupBy(cells, (cell) => JSON.stringify([cell.path, callersOf(cell)]))
  return [...alike.values()].flatMap((some) => {
    const methods = [...new Set(some.map(({ method }) => method))]
    return some.slice(0, 1).map((first) => ({ kind, methods, path: first.path, callers: callersOf(first) }))
  })
}
