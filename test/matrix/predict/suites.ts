/** Suites for tests: the shipped policy with its matrices, or with others. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PredictedSuite, readPredictedSuite } from '../../../src/tools/matrix/predict/suite.ts'
import { removeWithTests } from '../../ends-with-tests.ts'

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

export async function newFolder(): Promise<string> {
  return removeWithTests(await mkdtemp(join(tmpdir(), 'sallyport-matrix-')))
}
