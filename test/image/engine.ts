/**
 * Podman from Debian as the engine of containers, with a storage and a network of its own. Nothing is fetched: the base
 * image is made of this machine's files, and npm finds its packages in the cache of this machine.
 */
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { removeNow } from '../ends-with-tests.ts'
import { program } from '../programs.ts'
import { type Ran, ranIn } from '../project/projects.ts'
import { layBase } from './base.ts'

/** What the Dockerfiles name. */
const BASE = 'docker.io/library/node:26-bookworm-slim'

/** A container of tests that were killed ends then. */
const LONGEST_SECONDS = 600

export interface Engine {
  readonly folder: string
  /** `docker` is a command there, and it is Podman. */
  readonly env: NodeJS.ProcessEnv
  /** Throws unless the command ends with 0. Resolves with what it printed on standard output. */
  docker(...args: readonly string[]): Promise<string>
  /** Does the same for what may fail. */
  tried(...args: readonly string[]): Promise<Ran>
  /** Done also when the tests end without. */
  close(): Promise<void>
}

export async function openEngine(): Promise<Engine> {
  if (process.getuid?.() !== 0) throw new Error('the tests of images mount file systems: run them as root')
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-engine-'))
  const podman = program('podman')
  program('runc')
  const env = { ...process.env, ...(await settings(folder)) }
  const { stdout } = await ranIn(folder, env, ['npm', 'config', 'get', 'cache', 'registry'])
  const npm = Object.fromEntries(stdout.split('\n').map((line) => line.split('=')))
  const shim = join(folder, 'bin/docker')
  await mkdir(dirname(shim))
  await writeFile(shim, shimOf(podman, `${npm.cache}/_cacache`), { mode: 0o755 })
  const own = { ...env, PATH: [dirname(shim), env.PATH].join(delimiter) }
  const tried = (...args: readonly string[]) => ranIn(folder, own, [shim, ...args])
  const docker = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await tried(...args)
    if (code !== 0) throw new Error(`docker ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`)
    return stdout.trim()
  }
  const base = join(folder, 'base')
  await layBase(base, npm.registry)
  await writeFile(join(folder, 'Base'), 'FROM scratch\nCOPY . /\nENV PATH=/usr/local/bin:/usr/bin:/bin\n')
  await docker('build', '--quiet', '--file', join(folder, 'Base'), '--tag', BASE, base)
  const removeAll = () => spawnSync(shim, ['rm', '--all', '--force', '--volumes', '--time', '0'], { env: own })
  const end = () => {
    removeAll()
    // Podman mounts the folder of its layers on itself.
    spawnSync('umount', ['--lazy', join(folder, 'storage/overlay')])
    removeNow(folder)
  }
  process.once('exit', end)
  const close = async () => {
    process.off('exit', end)
    removeAll()
    await untilUnused(folder)
    end()
  }
  return { folder, env: own, docker, tried, close }
}

/** Podman cleans up in the background after a container has ended, and would make the folder again. */
async function untilUnused(folder: string): Promise<void> {
  const names = (pid: string) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  for (let i = 0; i < 400; i++) {
    const commands = await Promise.all((await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(names))
    if (!commands.some((command) => command.includes(folder))) return
    await sleep(50)
  }
}

/** The engine of the machine, if it has one, is left alone. */
async function settings(folder: string): Promise<NodeJS.ProcessEnv> {
  const storage = ['[storage]', 'driver = "overlay"', `graphroot = "${folder}/storage"`, `runroot = "${folder}/run"`]
  const containers = [
    '[containers]',
    // Engines ask for more than a machine may give.
    'default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]',
    '[engine]',
    'runtime = "runc"',
    'cgroup_manager = "cgroupfs"',
    'events_logger = "none"',
    'lock_type = "file"',
    `tmp_dir = "${folder}/tmp"`,
    `volume_path = "${folder}/volumes"`,
    '[network]',
    `network_config_dir = "${folder}/networks"`,
  ]
  await writeFile(join(folder, 'storage.conf'), `${storage.join('\n')}\n`)
  await writeFile(join(folder, 'containers.conf'), `${containers.join('\n')}\n`)
  return { CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'), CONTAINERS_CONF: join(folder, 'containers.conf') }
}

/** A build has no network. Podman is told to do as Docker does: health checks in images, and no other place to write. */
function shimOf(podman: string, cache: string): string {
  const build = `--format docker --layers=false --network none --volume '${cache}:/root/.npm/_cacache:O'`
  return `#!/bin/sh
case "$1" in
  build) shift; exec '${podman}' build ${build} "$@" ;;
  run) shift; exec '${podman}' run --read-only-tmpfs=false --timeout ${LONGEST_SECONDS} "$@" ;;
  *) exec '${podman}' "$@" ;;
esac
`
}
