/**
 * The files that come with the program: templates of projects, and the policy and schemas of the demo. And what is new in
 * a template, for a project that was made from it.
 */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
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

/** All files below a folder of the package, named within `as`. */
export async function packageFiles(folder: string, as = ''): Promise<readonly NewFile[]> {
  const files = await filesBelow(packagePath(folder))
  return files.map(({ name, text }) => ({ name: join(as, name), text }))
}

interface PackedFile extends NewFile {
  readonly path: string
}

/** Sorted by path. A first `_` of a name stands for a dot, which npm omits. */
export async function filesBelow(folder: string): Promise<readonly PackedFile[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  return Promise.all(
    paths.sort().map(async (path) => ({
      name: relative(folder, path).replaceAll(/(^|\/)_/g, '$1.'),
      path,
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

const TEMPLATES = ['empty/policies', 'project/package.json', 'resources', 'tenants/policies']
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

// ---- What is new in a template: a unified diff of the files that the two versions would make for a project.

/** The text of a template, and what the project has in its place. */
export interface MadeFile {
  readonly template: string
  readonly own: string | undefined
}

/** What stands in a project for `{{name}}`, `{{version}}` and the like. */
type Values = ReadonlyMap<string, string>

/** A `{{place}}` of a template. */
const PLACE = /\{\{(\w+)\}\}/

export function hasPlaces(template: string): boolean {
  return PLACE.test(template)
}

/** As far as the project's files still have the lines of the templates. Earlier files win. */
export function valuesIn(files: readonly MadeFile[]): Values {
  const found = new Map<string, string>()
  for (const { template, own } of files) {
    if (own === undefined) continue
    for (const line of template.split('\n').filter(hasPlaces)) {
      const names = line.split(PLACE).filter((_, i) => i % 2 === 1)
      const values = new RegExp(`^${patternOf(line, '([^\\n]*)')}$`, 'm').exec(own)?.slice(1) ?? []
      for (const [i, value] of values.entries()) {
        const name = names[i] ?? ''
        if (!found.has(name)) found.set(name, value)
      }
    }
  }
  return found
}

/** Whether the text is what the template makes, with any values. */
export function isMadeFrom(template: string, text: string): boolean {
  return new RegExp(`^${patternOf(template, '[^\\n]*')}$`).test(text)
}

function patternOf(template: string, value: string): string {
  const parts = template.split(/\{\{\w+\}\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return parts.join(value)
}

/**
 * For `git apply` and `patch -p1`. A place without a known value stays one, in both files. `before`: undefined if the
 * old version didn't have the template.
 */
export function renderedChange(name: string, before: string | undefined, after: string, values: Values): string {
  const filled = (text: string) => text.replaceAll(new RegExp(PLACE, 'g'), (all, key: string) => values.get(key) ?? all)
  const from = before === undefined ? '/dev/null' : `a/${name}`
  return createTwoFilesPatch(from, `b/${name}`, filled(before ?? ''), filled(after), undefined, undefined, {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
  })
}
