/** Packages of an earlier version, as far as `upgrade --check` looks at them: a folder with a program that is made up. */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = new URL('../..', import.meta.url).pathname

/** The program of this checkout. */
export const SAME_PROGRAM = `await import(${JSON.stringify(`${ROOT}bin/sallyport.js`)})`

/** `program`: the text of its `bin/sallyport.js`. Returns the folder. */
export async function writeOldPackage(
  folder: string,
  { version = '0.1.0', program = SAME_PROGRAM }: { readonly version?: string; readonly program?: string } = {},
): Promise<string> {
  await mkdir(join(folder, 'bin'), { recursive: true })
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'sallyport', version, type: 'module' }))
  await writeFile(join(folder, 'bin/sallyport.js'), program)
  for (const name of ['templates', 'CHANGELOG.md']) await cp(join(ROOT, name), join(folder, name), { recursive: true })
  return folder
}
