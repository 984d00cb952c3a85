/** Puts written matrices into a folder. Existing files stay unless they may be replaced. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type NewFile, takenNames, writeNew } from '../../../base/files/new-files.ts'
import { ToolError } from '../../load-policy.ts'
import { replaceAll } from '../../release/folder/replace-all.ts'
import { BODIES } from '../read/matrix-file.ts'

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
  if (files.length > 0) await writeNew(folder, files)
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
