/**
 * node scripts/pack.ts DIR: writes the packages as `npm publish` takes them: their folders, and a tarball of each.
 * A folder is made from scratch: it has no development scripts and no source, and its package.json names no tool of
 * this repository. `npm run build` builds a checkout; this leaves the checkout as it is.
 */
import { execFileSync } from 'node:child_process'
import { cp, glob, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** What a package tells of itself; everything else of its package.json concerns the repository. */
const KEPT = [
  'name',
  'version',
  'description',
  'license',
  'type',
  'engines',
  'bin',
  'imports',
  'exports',
  'sideEffects',
  'dependencies',
  'peerDependencies',
  'peerDependenciesMeta',
]

const PUBLISHING = { access: 'public', provenance: true }

interface PackageJson {
  readonly name: string
  readonly version: string
  readonly files: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
}

/** A folder of this repository, the folder that is made of it, and what builds its code there. */
interface Source {
  readonly from: string
  readonly to: string
  build(folder: string): Promise<void>
}

const SALLYPORT: Source = {
  from: '.',
  to: 'package',
  build: async (folder) => {
    const dist = join(folder, 'dist')
    run('npx', ['tsc', '-p', 'tsconfig.build.json', '--outDir', dist, '--sourceMap', 'false', '--removeComments'])
    await cp(join(ROOT, 'dist/compiled'), join(dist, 'compiled'), { recursive: true })
    await withoutSpaces(dist)
    await cp(join(ROOT, 'dist/console'), join(dist, 'console'), { recursive: true })
    await cp(join(ROOT, 'src/present/browser'), join(dist, 'present/browser'), { recursive: true })
  },
}

/** Statements are written shorter. Names stay, and lines are not all one: the trace of an error tells where it was. */
const AS_IT_IS = {
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 500,
  format: 'esm',
  legalComments: 'none',
} as const

/** A twentieth of the package would be spaces. */
async function withoutSpaces(folder: string): Promise<void> {
  const { transform } = await import('esbuild')
  const names = await readdir(folder, { recursive: true })
  for (const file of names.filter((name) => name.endsWith('.js')).map((name) => join(folder, name))) {
    // Nobody reads names that Ajv has made.
    const minifyIdentifiers = file.startsWith(join(folder, 'compiled'))
    const { code } = await transform(await readFile(file, 'utf8'), { ...AS_IT_IS, minifyIdentifiers })
    await writeFile(file, code)
  }
}

/** The schemas that editors and programs read. Those in `schemas/` are an example for people. */
async function jsonWithoutSpaces(folder: string): Promise<void> {
  for await (const name of glob(['docs/schemas/*.json', 'src/**/*.json'], { cwd: folder })) {
    const file = join(folder, name)
    await writeFile(file, `${JSON.stringify(JSON.parse(await readFile(file, 'utf8')))}\n`)
  }
}

const CREATE: Source = { from: 'packages/create-sallyport', to: 'create-sallyport', build: async () => {} }

const CLIENT: Source = {
  from: 'packages/client',
  to: 'client',
  build: async (folder) => {
    run('npx', ['tsc', '-p', 'packages/client', '--outDir', join(folder, 'dist')])
  },
}

/** What was made of a package: its tarball, and the folder with what is in it. */
interface Packed {
  readonly tarball: string
  readonly folder: string
}

/** Returns the path of the tarball of `sallyport` alone. */
export async function pack(target: string): Promise<string> {
  return (await packOne(SALLYPORT, resolve(target), process.env)).tarball
}

/** `workflow`: the variables that name the repository of the workflow that packs. */
export async function packAll(target: string, workflow: NodeJS.ProcessEnv = process.env): Promise<readonly Packed[]> {
  const packed: Packed[] = []
  for (const source of [SALLYPORT, CREATE, CLIENT]) packed.push(await packOne(source, resolve(target), workflow))
  return packed
}

async function packOne(source: Source, target: string, workflow: NodeJS.ProcessEnv): Promise<Packed> {
  const { from, to, build } = source
  const folder = join(target, to)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const own = await readPackage(from)
  await build(folder)
  const built = ['dist', 'dist/**']
  for await (const name of glob([...own.files], { cwd: join(ROOT, from), exclude: built })) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await cp(join(ROOT, from, name), join(folder, name), { recursive: true })
  }
  await jsonWithoutSpaces(folder)
  const manifest = { ...(await published(own)), ...repository(from, workflow), publishConfig: PUBLISHING }
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await cp(join(ROOT, from, 'README.md'), join(folder, 'README.md'))
  await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', target, folder]))
  const tarball = join(target, filename)
  await writeFile(tarball, inOrderOfPaths(await readFile(tarball)))
  return { folder, tarball }
}

const BLOCK = 512

/** npm has the files by their names alone. Those of one folder are alike, so the tarball is a twentieth smaller by paths. */
export function inOrderOfPaths(tarball: Uint8Array): Uint8Array {
  const tar = gunzipSync(tarball)
  const files: { readonly path: string; readonly bytes: Uint8Array }[] = []
  let at = 0
  // Two empty blocks are the end.
  while (tar[at] !== 0) {
    const field = (from: number, length: number) => tar.toString('utf8', at + from, at + from + length).split('\0')[0]
    if (field(156, 1) !== '0') throw new Error(`${field(0, 100)} is no plain file; its place in a tarball is unknown`)
    const size = Number.parseInt(field(124, 12) ?? '', 8)
    const end = at + BLOCK + Math.ceil(size / BLOCK) * BLOCK
    files.push({ path: `${field(345, 155)}/${field(0, 100)}`, bytes: tar.subarray(at, end) })
    at = end
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1))
  return gzipSync(Buffer.concat([...files.map(({ bytes }) => bytes), tar.subarray(at)]), { level: 9 })
}

/** All packages have the version of `sallyport`, and depend on that version of it. */
async function published(own: PackageJson): Promise<object> {
  const { version } = await readPackage('.')
  const kept = Object.fromEntries(Object.entries(own).filter(([name]) => KEPT.includes(name)))
  const dependencies = own.dependencies?.sallyport ? { ...own.dependencies, sallyport: version } : own.dependencies
  return { ...kept, version, ...(dependencies && { dependencies }) }
}

/** A statement of provenance holds for the repository whose workflow publishes, so GitHub's variables name it. */
function repository(from: string, { GITHUB_SERVER_URL, GITHUB_REPOSITORY }: NodeJS.ProcessEnv): object {
  if (!GITHUB_REPOSITORY) return {}
  const url = `git+${GITHUB_SERVER_URL ?? 'https://github.com'}/${GITHUB_REPOSITORY}.git`
  return { repository: { type: 'git', url, ...(from !== '.' && { directory: from }) } }
}

async function readPackage(from: string): Promise<PackageJson> {
  return JSON.parse(await readFile(join(ROOT, from, 'package.json'), 'utf8'))
}

function run(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

if (import.meta.main) {
  const [target] = process.argv.slice(2)
  if (target === undefined) throw new Error('name the folder to write to: node scripts/pack.ts DIR')
  process.stdout.write((await packAll(target)).map(({ tarball }) => `${tarball}\n`).join(''))
}
