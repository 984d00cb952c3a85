/**
 * Questions that run matrices: those of the folder in which the server was started, or a copy of them with the rows that
 * the question brings. Rows are cells; the commands alone know what they mean.
 */
import { cp, mkdir, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { makeFolder } from '../../base/files/make-folder.ts'
import { isWithin } from '../../base/files/project-file.ts'
import { Problem } from '../../base/problems/problem.ts'
import { answerJson, bringsFiles, commandOf, type QuestionBody } from './question-commands.ts'
import type { FromProcess } from './question-messages.ts'

/** Where the commands look when nothing else is named, in the folder of the server. */
const MATRICES = 'test/matrix'
const BODIES = 'bodies'

const RUNS: ReadonlySet<string> = new Set(['matrix-test', 'matrix-coverage', 'matrix-mutate', 'matrix-init'])

/** They take long, so they have a process of their own. */
export function runsMatrices(name: string): boolean {
  return RUNS.has(name)
}

interface MatrixRun {
  readonly asked: QuestionBody
  /** The folder of the workplace. */
  readonly folder: string
  /** The folder of the server. */
  readonly served: string
  /** Runs a command with the policy of the question. */
  readonly run: (argv: readonly string[]) => Promise<FromProcess>
}

/** The answer as JSON. Throws what `run` throws. */
export async function runMatrices(name: string, matrixRun: MatrixRun): Promise<string> {
  const { asked, folder } = matrixRun
  if (name === 'matrix-init') return initMatrices(matrixRun)
  const isBrought = asked.matrices !== undefined || asked.bodies !== undefined
  const place = join(folder, 'matrices')
  if (isBrought) await copyMatrices(matrixRun, place)
  const [there, shown] = isBrought ? [[place], [basename(place)]] : [[], []]
  const answer = (to: string) => answerOf(to, matrixRun, { matrices: there }, { matrices: shown })
  if (name !== 'matrix-test') return (await answer(name)).text
  const rows = await answer('matrices')
  return `{"matrices":${rows.text},"test":${rows.said.code === 1 ? null : (await answer(name)).text}}`
}

/** What the command wrote, and nothing is kept. */
async function initMatrices(matrixRun: MatrixRun): Promise<string> {
  const { asked, folder } = matrixRun
  const out = join(folder, 'init')
  await rm(out, { recursive: true, force: true })
  if (asked.missing === true) await copyMatrices(matrixRun, out)
  const init = await answerOf('matrix-init', matrixRun, { out }, {})
  const files: readonly string[] = JSON.parse(init.said.stdout).files
  const written = files.filter((file) => file.endsWith('.csv'))
  const there = { matrices: written.map((file) => join(folder, file)) }
  const rows = written.length > 0 ? await answerOf('matrices', matrixRun, there, { matrices: written }) : { text: null }
  const bodies = files.filter((file) => file.includes(`/${BODIES}/`))
  const texts = await Promise.all(bodies.map((file) => readFile(join(folder, file), 'utf8')))
  const byName = Object.fromEntries(bodies.map((file, i) => [basename(file), texts[i]]))
  return `{"init":${init.text},"matrices":${rows.text},"bodies":${JSON.stringify(byName)}}`
}

/** `there` and `shown`: where the command finds or writes its files, and what people read in its place. */
async function answerOf(
  name: string,
  { asked, run }: MatrixRun,
  there: QuestionBody,
  shown: QuestionBody,
): Promise<{ readonly text: string; readonly said: FromProcess }> {
  const { matrices: _, ...options } = asked
  const said = await run(commandOf(name, { ...options, ...there }).argv)
  const draft = bringsFiles(asked) ? { policies: 'draft' } : {}
  return { said, text: answerJson(commandOf(name, { ...options, ...draft, ...shown }), said) }
}

/** A copy with what the question brings. Throws Problem question-refused. */
async function copyMatrices({ asked, served }: MatrixRun, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true })
  await mkdir(to)
  const from = join(served, MATRICES)
  const names = await readdir(from).catch(() => [])
  for (const name of names.filter((one) => one === BODIES || /^[^.].*\.(?:csv|ya?ml)$/i.test(one))) {
    await cp(join(from, name), join(to, name), {
      recursive: true,
      dereference: true,
      filter: (file) => staysIn(from, file),
    })
  }
  for (const [name, rows] of Object.entries((asked.matrices ?? {}) as Readonly<Record<string, Rows>>)) {
    await put(join(to, name), rows.map(lineOf).join(''))
  }
  for (const [name, text] of Object.entries((asked.bodies ?? {}) as Readonly<Record<string, string>>)) {
    await makeFolder(join(to, BODIES))
    await put(join(to, BODIES, name), text)
  }
}

/** The commands decide about links where they stand, and don't know where a copy came from. */
async function staysIn(folder: string, file: string): Promise<true> {
  if (isWithin(await realpath(file).catch(() => ''), await realpath(folder))) return true
  const detail = `\`${basename(file)}\` is a link that leads out of the folder of the matrices: put a file in its place.`
  throw new Problem('question-refused', detail)
}

type Rows = readonly (readonly string[])[]

/** In place of a link, too. */
async function put(file: string, text: string): Promise<void> {
  await rm(file, { force: true })
  await writeFile(file, text)
}

function lineOf(cells: readonly string[]): string {
  return `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`
}
