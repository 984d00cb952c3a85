/** Makes a project in a folder: `sallyport init`, `npm create sallyport`. */
import { join } from 'node:path'
import { LeadsElsewhere, takenNames, writeNew } from '../../base/files/new-files.ts'
import { ToolError } from '../load-policy.ts'
import { columnsFor, planMatrix } from '../matrix/init/plan-matrix.ts'
import { storeNew, writeMatrix } from '../matrix/init/write-matrix.ts'
import { readPredictedSuite } from '../matrix/predict/suite.ts'
import { type ProjectWishes, planProject } from './plan-project.ts'

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

/** Throws ToolError in place of the system's error, which doesn't say what to do. */
export async function orTell<T>(folder: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (error instanceof LeadsElsewhere) throw new ToolError(error.message)
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new ToolError(
      `${folder} can't be written (${code}), and nothing was changed: name another directory, or fix it`,
    )
  }
}

/** States every answer of the new policy. */
async function writeMatrices(folder: string): Promise<void> {
  const folders = { policies: join(folder, 'policies'), schemas: join(folder, 'schemas') }
  const suite = await readPredictedSuite({ ...folders, matrices: [] }, Date.now())
  await storeNew(join(folder, MATRICES), writeMatrix(await planMatrix(suite, columnsFor(suite), () => false), ''))
}
