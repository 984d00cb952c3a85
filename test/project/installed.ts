/** The package as its users have it: packed, and installed from its tarball without a network. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { pack } from '../../scripts/pack.ts'

const ROOT = new URL('../..', import.meta.url).pathname

export interface Installed {
  readonly folder: string
  readonly tarball: string
  /** An empty folder beside which the package is installed. */
  readonly app: string
  /** With npm, and with the Node of these tests as `node`. */
  readonly env: NodeJS.ProcessEnv
  remove(): Promise<void>
}

interface LockedPackage {
  readonly version: string
  readonly dev?: boolean
  readonly link?: boolean
}

export async function installPackage(): Promise<Installed> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-package-'))
  const tarball = await pack(folder)
  const app = join(folder, 'app')
  await mkdir(app)
  // npm takes the first `node` that it finds; that of a machine may be an old one.
  const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) }
  for (const [name, text] of Object.entries(await lockedProject(tarball))) {
    await writeFile(join(app, name), `${JSON.stringify(text, null, 2)}\n`)
  }
  const flags = ['--offline', '--no-audit', '--no-fund']
  execFileSync('npm', ['ci', ...flags], { cwd: app, env, stdio: 'pipe' })
  return { folder, tarball, app, env, remove: () => rm(folder, { recursive: true, force: true }) }
}

/** Names every package as the lock of this repository does: without a network, npm can't ask which versions there are. */
async function lockedProject(tarball: string): Promise<Readonly<Record<string, object>>> {
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
  const own = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const packages = Object.entries(lock.packages as Readonly<Record<string, LockedPackage>>).filter(([path, one]) => {
    return path.startsWith('node_modules/') && !one.dev && !one.link
  })
  const integrity = `sha512-${createHash('sha512')
    .update(await readFile(tarball))
    .digest('base64')}`
  const dependencies = { sallyport: `file:${tarball}` }
  const root = { name: 'app', version: '1.0.0', private: true, dependencies }
  const sallyport = {
    version: own.version,
    resolved: `file:${tarball}`,
    integrity,
    dependencies: own.dependencies,
    bin: own.bin,
  }
  return {
    'package.json': root,
    'package-lock.json': {
      name: 'app',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: { '': root, 'node_modules/sallyport': sallyport, ...Object.fromEntries(packages) },
    },
  }
}
