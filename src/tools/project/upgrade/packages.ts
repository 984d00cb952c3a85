/** The two packages that are compared: the program that runs, and the one that the project has installed. */
import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { ToolError } from '../../load-policy.ts'
import { packagePath } from '../package-files.ts'
import type { ProgramPackage } from './sides.ts'

const INSTALLED = 'node_modules/sallyport'

export async function ownPackage(): Promise<ProgramPackage> {
  const root = packagePath('.')
  return { root, version: (await versionOf(root)) ?? '' }
}

/** `from`: the folder of the package, or one where it is installed. Throws ToolError. */
export async function oldPackage(folder: string, from: string | undefined): Promise<ProgramPackage> {
  const places = from === undefined ? above(resolve(folder)) : [from, join(from, INSTALLED)]
  const own = await realpath(packagePath('.'))
  for (const root of places) {
    const version = await versionOf(root)
    if (version === undefined) continue
    if ((await realpath(root)) !== own) return { root, version }
    throw new ToolError(
      `${root} is the program that runs now: run the newer one, like \`npx sallyport@latest upgrade --check\`, ` +
        'or name the folder of the earlier package with --from',
    )
  }
  const [where, what] = from === undefined ? [folder, 'install it there first, or n'] : [from, 'n']
  throw new ToolError(
    `no package \`sallyport\` was found in ${where}: ${what}ame the folder of the earlier package with --from`,
  )
}

/** Where Node would look for the package. */
function above(folder: string): readonly string[] {
  const parent = dirname(folder)
  return [join(folder, INSTALLED), ...(parent === folder ? [] : above(parent))]
}

async function versionOf(root: string): Promise<string | undefined> {
  const file = join(root, 'package.json')
  if (!(await stat(file).catch(() => undefined))?.isFile()) return undefined
  try {
    const { name, version } = JSON.parse(await readFile(file, 'utf8'))
    return name === 'sallyport' && typeof version === 'string' ? version : undefined
  } catch {
    throw new ToolError(`${file} can't be read as JSON: install the package again`)
  }
}
