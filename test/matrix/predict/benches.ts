/** Benches for tests: the shipped policy with its matrices, or with others. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bench, readBench } from '../../../src/tools/matrix/predict/bench.ts'

export const ROOT = new URL('../../../', import.meta.url).pathname
const SHIPPED = { policies: join(ROOT, 'policies'), schemas: join(ROOT, 'schemas') }

/** The shipped policy with the matrices of a folder. */
export function benchOf(...matrices: readonly string[]): Promise<Bench> {
  return readBench({ ...SHIPPED, matrices }, Date.now())
}

/** With one matrix of this text. */
export async function benchOfText(text: string): Promise<Bench> {
  const folder = await newFolder()
  await writeFile(join(folder, 'some.csv'), text)
  return benchOf(folder)
}

/** A copy of the shipped policy with files written otherwise, and the matrices of a folder. */
export async function benchWith(
  files: Readonly<Record<string, string>>,
  ...matrices: readonly string[]
): Promise<Bench> {
  const policies = join(await newFolder(), 'policies')
  await cp(SHIPPED.policies, policies, { recursive: true })
  for (const [name, text] of Object.entries(files)) await writeFile(join(policies, name), text)
  return readBench({ ...SHIPPED, policies, matrices }, Date.now())
}

export function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'sallyport-matrix-'))
}
