/** The files that come with the program: templates of projects, and the policy and schemas of the demo. */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { NewFile } from '../../base/files/new-files.ts'

/** In src/ of a checkout, in dist/ of the package. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

export const DEMO_FOLDERS = { policies: join(ROOT, 'policies'), schemas: join(ROOT, 'schemas') } as const

/** Where a file of the package is. */
export function packagePath(name: string): string {
  return join(ROOT, name)
}

async function packageText(name: string): Promise<string> {
  return readFile(packagePath(name), 'utf8')
}

/**
 * All files below a folder of the package, named within `as`, sorted by path. A first `_` of a name stands for a dot,
 * which npm omits.
 */
export async function packageFiles(folder: string, as = ''): Promise<readonly NewFile[]> {
  const root = packagePath(folder)
  const found = await readdir(root, { recursive: true, withFileTypes: true })
  const paths = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  return Promise.all(
    paths.sort().map(async (path) => ({
      name: join(as, relative(root, path).replaceAll(/(^|\/)_/g, '$1.')),
      text: await readFile(path, 'utf8'),
    })),
  )
}

export async function packageVersion(): Promise<string> {
  return (await packageJson()).version
}

interface PackageJson {
  readonly version: string
  /** Of a checkout. */
  readonly private?: boolean
  readonly engines?: { readonly node?: string }
}

export async function packageJson(): Promise<PackageJson> {
  return JSON.parse(await packageText('package.json'))
}

const TEMPLATES = ['client', 'empty/policies', 'project/package.json', 'resources', 'tenants/policies']
const NEEDED = [
  ...['bin/sallyport.js', 'dist/compiled', 'policies', 'schemas', 'src/policy/schemas', 'docs'],
  ...TEMPLATES.map((name) => `templates/${name}`),
]

/** What a module of this program names of its others, at once or later. */
const IMPORTED = /^(?:import|export|\})[^'"\n]*'(\.{1,2}\/[^']+\.[jt]s)'|\bimport\('(\.{1,2}\/[^']+\.[jt]s)'\)/gm

/** What the program needs of its own files and hasn't. */
export async function missingFiles(): Promise<readonly string[]> {
  const entry = (await packageJson()).private ? 'src/main.ts' : 'dist/main.js'
  const modules = new Set<string>()
  await follow(entry, modules)
  return [...NEEDED, ...modules].filter((name) => !existsSync(packagePath(name)))
}

async function follow(name: string, found: Set<string>): Promise<void> {
  if (found.has(name)) return
  found.add(name)
  const text = await packageText(name).catch(() => '')
  const names = [...text.matchAll(IMPORTED)].map(([, atOnce, later = '']) => join(dirname(name), atOnce ?? later))
  await Promise.all(names.map((one) => follow(one, found)))
}
