/** What is looked at in a tarball before it is published: by the checkers that others use, and by its package.json. */
import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

const BIN = new URL('../../node_modules/.bin', import.meta.url).pathname

const CHECKERS: readonly (readonly [program: string, ...args: readonly string[]])[] = [
  ['publint', 'run', '--strict', '--level', 'warning'],
  ['attw', '--profile', 'esm-only', '--no-emoji', '--no-color'],
]

export const MOST_PACKED = 1_480_000
export const MOST_UNPACKED = 4_700_000

/** Files that have no place in a package. A template is a text, in any language. */
export function strayNames(names: readonly string[]): readonly string[] {
  return names.filter((name) => !name.startsWith('templates/') && /(?<!\.d)\.ts$|\.test\.|\.map$/.test(name))
}

/** What the checkers object to; nothing if they agree. */
export async function objections(tarball: string): Promise<readonly string[]> {
  const said = await Promise.all(
    CHECKERS.map(
      ([program, ...args]) =>
        new Promise<readonly string[]>((resolve) => {
          execFile(join(BIN, program), [...args, tarball], (error, stdout, stderr) => {
            resolve(error ? [`${program}: ${stdout}${stderr}`] : [])
          })
        }),
    ),
  )
  return said.flat()
}

/** Packages below the folder with a script that npm would run when it installs them. */
export async function withInstallScripts(folder: string): Promise<readonly string[]> {
  const files = (await readdir(folder, { recursive: true })).filter((name) => /(^|\/)package\.json$/.test(name))
  const found = await Promise.all(
    files.map(async (name) => {
      const { scripts = {} } = JSON.parse(await readFile(join(folder, name), 'utf8'))
      return ['preinstall', 'install', 'postinstall'].some((script) => script in scripts) ? [name] : []
    }),
  )
  const built = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('/binding.gyp'))
  return [...found.flat(), ...built]
}

export async function bytesOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}
