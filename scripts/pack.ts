/**
 * node scripts/pack.ts DIR: writes the package as `npm publish` takes it, a folder DIR/package and its tarball beside it.
 * The folder is made from scratch: it has no development scripts and no source, and its package.json names no tool of
 * this repository. `npm run build` builds a checkout; this leaves the checkout as it is.
 */
import { execFileSync } from 'node:child_process'
import { cp, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** What the package tells of itself; everything else of package.json concerns the repository. */
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
  'dependencies',
]

/** Returns the path of the tarball. */
export async function pack(target: string): Promise<string> {
  const folder = join(resolve(target), 'package')
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const own = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const dist = join(folder, 'dist')
  run('npx', ['tsc', '-p', 'tsconfig.build.json', '--outDir', dist, '--sourceMap', 'false'])
  await cp(join(ROOT, 'dist/compiled'), join(dist, 'compiled'), { recursive: true })
  await cp(join(ROOT, 'src/present/browser'), join(dist, 'present/browser'), { recursive: true })
  for await (const name of glob(own.files as string[], { cwd: ROOT, exclude: ['dist/**', 'dist'] })) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await cp(join(ROOT, name), join(folder, name), { recursive: true })
  }
  const kept = Object.fromEntries(KEPT.flatMap((name) => (name in own ? [[name, own[name]]] : [])))
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(kept, null, 2)}\n`)
  for (const name of ['README.md', 'LICENSE']) await cp(join(ROOT, name), join(folder, name))
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', resolve(target), folder]))
  return join(resolve(target), filename)
}

function run(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

if (import.meta.main) {
  const [target] = process.argv.slice(2)
  if (target === undefined) throw new Error('name the folder to write to: node scripts/pack.ts DIR')
  process.stdout.write(`${await pack(target)}\n`)
}
