/** Copies the policy and the schemas of the demo out of the package, so that they can be changed. */
import { takenNames, writeNew } from '../../base/files/new-files.ts'
import { ToolError } from '../load-policy.ts'
import { orTell } from './make-project.ts'
import { packageFiles } from './package-files.ts'
import { inProject } from './plan-project.ts'

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
