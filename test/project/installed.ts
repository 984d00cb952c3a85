/** The packages as their users have them: packed, and installed from their tarballs without a network. */
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { packAll } from '../../scripts/pack.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { ranIn } from './projects.ts'
import { startRegistry } from './registry.ts'

export interface Installed {
  readonly folder: string
  readonly tarballs: readonly string[]
  /** The folder that `sallyport` is installed in. */
  readonly app: string
  /** With npm and a registry that has the packages, and with the Node of these tests as `node`. */
  readonly env: NodeJS.ProcessEnv
  /** The same for another Node, given by the path of its program. */
  envWith(node: string): NodeJS.ProcessEnv
  remove(): Promise<void>
}

export async function installPackages(): Promise<Installed> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-package-'))
  const packed = await packAll(folder, { GITHUB_REPOSITORY: 'example/sallyport' })
  const registry = await startRegistry(new Map(packed.map(({ tarball, folder }) => [tarball, folder])))
  const env = { ...process.env, ...(await settings(folder, registry.url)), PATH: pathWith(process.execPath) }
  const app = join(folder, 'app')
  await mkdir(app)
  const names = packed.map(({ tarball }) => tarball)
  const { code, stderr } = await ranIn(app, env, ['npm', 'install', `../${basename(names[0] ?? '')}`])
  if (code !== 0) throw new Error(`the package can't be installed: ${stderr}`)
  return {
    folder,
    tarballs: names,
    app,
    env,
    envWith: (node) => ({ ...env, PATH: pathWith(node) }),
    remove: async () => {
      await registry.stop()
      await removeFolder(folder)
    },
  }
}

/** npm reads from the cache of this machine, but keeps no program of these tests for `npm create`. */
async function settings(folder: string, url: string): Promise<NodeJS.ProcessEnv> {
  const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8', stdio: 'pipe' }).trim()
  await mkdir(join(folder, 'cache'))
  await symlink(join(cache, '_cacache'), join(folder, 'cache/_cacache'))
  return {
    npm_config_cache: join(folder, 'cache'),
    npm_config_registry: url,
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  }
}

/** npm takes the first `node` that it finds; that of a machine may be an old one. */
function pathWith(node: string): string {
  return [dirname(node), process.env.PATH].join(delimiter)
}
