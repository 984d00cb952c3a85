/** What is asked of images and of containers. Each check resolves with what is wrong, so that a control can read it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from './engine.ts'

/** What a container prints until it serves. Throws if it ends before. */
export async function untilListening({ tried }: Engine, container: string): Promise<string> {
  for (let i = 0; i < 1200; i++) {
    const { stdout, stderr } = await tried('logs', container)
    if (stderr.includes('"msg":"listening"')) return stdout + stderr
    if (!(await isRunning(tried, container))) throw new Error(`${container} ended: ${stdout}${stderr}`)
    await sleep(50)
  }
  throw new Error(`${container} does not listen`)
}

async function isRunning(tried: Engine['tried'], container: string): Promise<boolean> {
  return (await tried('inspect', '--format', '{{.State.Running}}', container)).stdout.trim() === 'true'
}

/** Whether the health check of its image passes. */
export async function isHealthy({ tried }: Engine, container: string): Promise<boolean> {
  return (await tried('healthcheck', 'run', container)).code === 0
}

/** A check that takes too long fails, so on a busy machine the first may. */
export async function untilHealthy(engine: Engine, container: string): Promise<void> {
  for (let i = 0; i < 20; i++) if (await isHealthy(engine, container)) return
  throw new Error(`${container} is never healthy`)
}

/** Undefined for a container that had to be killed. */
export async function exitCode({ docker }: Engine, container: string): Promise<number | undefined> {
  const code = Number(await docker('wait', container))
  return code === 137 ? undefined : code
}

/** Folders below / in which the user of a container can make a file. */
export async function writableFolders({ docker }: Engine, container: string): Promise<readonly string[]> {
  const said = await docker('exec', container, 'node', '-e', WALK)
  return said.split('\n').filter((line) => line !== '')
}

const NONE = '0000000000000000'

const WALK = `
const fs = require('node:fs')
const walk = (folder) => {
  if (['/proc', '/sys', '/dev'].includes(folder)) return
  try {
    fs.writeFileSync(folder + '/.probe', '')
    fs.unlinkSync(folder + '/.probe')
    return console.log(folder)
  } catch {}
  let found = []
  try { found = fs.readdirSync(folder, { withFileTypes: true }) } catch {}
  for (const one of found) if (one.isDirectory()) walk((folder === '/' ? '' : folder) + '/' + one.name)
}
walk('/')`

/** As `powers` has it: of nobody else, with no capability, and with no way to get one. */
export const POWERLESS = { Uid: '1000', Gid: '1000', CapEff: NONE, CapBnd: NONE, NoNewPrivs: '1' }

/** What would let a fault of the server do more. */
export async function powers({ docker }: Engine, container: string): Promise<Readonly<Record<string, string>>> {
  const status = await docker('exec', container, 'node', '-e', "console.log(fs.readFileSync('/proc/1/status', 'utf8'))")
  const wanted = ['Uid', 'Gid', 'CapEff', 'CapBnd', 'NoNewPrivs']
  return Object.fromEntries(wanted.map((name) => [name, new RegExp(`^${name}:\\t(\\S+)`, 'm').exec(status)?.[1] ?? '']))
}

/** Processes of a container: their number, their parent's, and whether they are zombies. */
export async function processes({ docker }: Engine, container: string): Promise<readonly ContainerProcess[]> {
  const said = await docker('exec', container, 'node', '-e', LIST)
  return said.split('\n').map((line) => JSON.parse(line))
}

export interface ContainerProcess {
  readonly pid: number
  readonly parent: number
  readonly isZombie: boolean
}

const LIST = `
for (const pid of fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid)) {
  let stat = ''
  try { stat = fs.readFileSync('/proc/' + pid + '/stat', 'utf8') } catch { continue }
  const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // What the engine starts beside process 1 has no parent in there.
  if (parent === '0' && pid !== '1') continue
  console.log(JSON.stringify({ pid: Number(pid), parent: Number(parent), isZombie: state === 'Z' }))
}`

export interface ImageFile {
  readonly path: string
  readonly bytes: number
}

/** Those of the folders that no base image fills. */
export async function filesOf({ docker }: Engine, image: string): Promise<readonly ImageFile[]> {
  const said = await docker(
    'run',
    '--rm',
    '--network',
    'none',
    '--user',
    '0',
    '--entrypoint',
    'node',
    image,
    '-e',
    FILES,
  )
  return said.split('\n').map((line) => JSON.parse(line))
}

const FILES = `
for (const root of ['/app', '/data', '/home', '/root', '/tmp'])
  for (const one of fs.readdirSync(root, { recursive: true, withFileTypes: true }))
    if (one.isFile()) {
      const path = one.parentPath + '/' + one.name
      console.log(JSON.stringify({ path, bytes: fs.statSync(path).size }))
    }`

/** Files that an image shouldn't have. `allowed`: the names in /app; `dev`: packages that only development needs. */
export function strayFiles(
  files: readonly ImageFile[],
  { allowed, dev }: { readonly allowed: ReadonlySet<string>; readonly dev: ReadonlySet<string> },
): readonly string[] {
  return files
    .map(({ path }) => path)
    .filter((path) => {
      const [, app, name = ''] = path.split('/')
      if (app !== 'app' || !allowed.has(name)) return true
      const [, folder] = /^\/app\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? []
      return folder === undefined ? /\.(?:pem|key|map|log|db)$|\.test\.|\/\.env/.test(path) : dev.has(folder)
    })
}
