/** Suites for tests: the shipped policy with its matrices, or with others. */
import { cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { columnsFor, planMatrix } from '../../../src/tools/matrix/init/plan-matrix.ts'
import { writeMatrix } from '../../../src/tools/matrix/init/write-matrix.ts'
import { type PredictedSuite, readPredictedSuite } from '../../../src/tools/matrix/predict/suite.ts'
import { removeWithTests } from '../../ends-with-tests.ts'
import { filesOf } from '../../policy/render.ts'
import { SOURCES } from './kinds.ts'

export const ROOT = new URL('../../../', import.meta.url).pathname
const SHIPPED = { policies: join(ROOT, 'policies'), schemas: join(ROOT, 'schemas') }

/** The shipped policy with the matrices of a folder. */
export function suiteOf(...matrices: readonly string[]): Promise<PredictedSuite> {
  return readPredictedSuite({ ...SHIPPED, matrices }, Date.now())
}

/** With one matrix of this text. */
export async function suiteOfText(text: string): Promise<PredictedSuite> {
  return suiteOf(await folderOf(text))
}

/** A folder with one matrix of this text. */
export async function folderOf(text: string): Promise<string> {
  const folder = await newFolder()
  await writeFile(join(folder, 'some.csv'), text)
  return folder
}

/** A copy of the shipped policy with files written otherwise, and the matrices of a folder. */
export async function suiteWith(
  files: Readonly<Record<string, string>>,
  ...matrices: readonly string[]
): Promise<PredictedSuite> {
  const policies = join(await newFolder(), 'policies')
  await cp(SHIPPED.policies, policies, { recursive: true })
  for (const [name, text] of Object.entries(files)) await writeFile(join(policies, name), text)
  return readPredictedSuite({ ...SHIPPED, policies, matrices }, Date.now())
}

type Texts = Readonly<Record<string, string>>

/** A policy of these files about the resources of `sources`, in a folder of its own, with matrices beside it. */
export async function suiteOfFiles(files: Texts, matrices: Texts = {}, sources = SOURCES) {
  const folder = await newFolder()
  const paths = { policies: join(folder, 'policies'), schemas: join(folder, 'schemas') }
  const matrix = join(folder, 'matrices')
  for (const path of [...Object.values(paths), matrix]) await mkdir(path)
  for (const { name, text } of Object.values(filesOf(files))) await writeFile(join(paths.policies, name), text)
  await writeFile(join(paths.policies, 'blocked.txt'), '')
  for (const { name, text } of sources) await writeFile(join(folder, name), text)
  for (const [name, text] of Object.entries(matrices)) await writeFile(join(matrix, name), text)
  return { folder, paths, matrix, suite: () => readPredictedSuite({ ...paths, matrices: [matrix] }, Date.now()) }
}

/** The whole matrix of a policy as it is. */
export async function writtenFor(suite: PredictedSuite) {
  return writeMatrix(await planMatrix(suite, columnsFor(suite), () => false), '')
}

export async function newFolder(): Promise<string> {
  return removeWithTests(await mkdtemp(join(tmpdir(), 'sallyport-matrix-')))
}
