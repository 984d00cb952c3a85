/** A page whose commands are run as printed, in a folder that looks like the reader's, with ports of its own. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Block, blocksOf } from './documented.ts'
import { removeFolder } from './ends-with-tests.ts'
import { openPageCommands } from './page-commands.ts'
import { freePort } from './redis.ts'

const ROOT = new URL('..', import.meta.url).pathname

interface PlayedBlock extends Block {
  /** What its commands printed, on standard output and then on standard error. */
  readonly printed: string
}

export interface PlayedPage {
  readonly blocks: readonly PlayedBlock[]
  /** Of the commands that the server and the others worked in. */
  readonly folder: string
  stop(): Promise<void>
}

/** Where the reader works: in a checkout, or in a project of the demo that the package made. */
export interface Place {
  readonly env: NodeJS.ProcessEnv
  /** Puts the files that Git keeps into an empty folder. */
  fill(folder: string): Promise<void>
  /** Then the others. */
  link(folder: string): Promise<void>
}

const CHECKOUT: Place = {
  env: process.env,
  fill: async (folder) => {
    for (const name of ['policies', 'schemas', 'package.json', 'test/matrix'])
      await cp(join(ROOT, name), join(folder, name), { recursive: true })
  },
  link: async (folder) => {
    for (const name of ['bin', 'src', 'node_modules', 'examples', 'packages'])
      await symlink(join(ROOT, name), join(folder, name))
  },
}

interface PlayOptions {
  readonly ports?: readonly string[]
  readonly ready?: string
  readonly place?: Place
  /** A server that the page starts before its first block. */
  readonly before?: string
  /** The commands of a checkout start npm and the program too, as servers and what is installed always do. */
  readonly startsAll?: boolean
}

/**
 * `servers`: the commands that go on running; the next command waits until it listens. The same server command again
 * ends the earlier server. A command that fails says so in what is printed. `ports`: further ports that the page names.
 * `ready`: what a server prints when it listens.
 */
export async function playPage(
  file: string,
  servers: readonly string[],
  {
    ports = [],
    ready = '"msg":"listening"',
    place = CHECKOUT,
    before,
    startsAll = place !== CHECKOUT,
  }: PlayOptions = {},
): Promise<PlayedPage> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-page-'))
  await place.fill(folder)
  commitAll(folder)
  await place.link(folder)
  const env = { ...place.env, PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) }
  const free = new Map<string, string>()
  for (const port of ports) free.set(port, String(await freePort()))
  const ported = (line: string) => [...free].reduce((text, [port, other]) => text.replaceAll(port, other), line)
  const running = new Map<string, ChildProcess>()
  const commands = startsAll ? undefined : await openPageCommands()
  const stop = async () => {
    // With the programs that npm started.
    for (const { pid } of running.values()) if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    await commands?.close()
    await removeFolder(folder)
  }
  try {
    const blocks: PlayedBlock[] = []
    if (before) running.set(before, await serve(folder, env, { command: before, ready }))
    for (const block of blocksOf(await readFile(join(ROOT, file), 'utf8'))) {
      const lines = block.commands.filter((line) => !servers.includes(line))
      for (const line of block.commands.filter((one) => servers.includes(one))) {
        await end(running.get(line))
        running.set(line, await serve(folder, env, { command: ported(line), ready }))
      }
      const printed = lines.length > 0 ? await shell(folder, env, lines.map(ported), commands?.bash) : ''
      blocks.push({ ...block, printed })
    }
    return { blocks, folder, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** So that `git checkout` brings the files back, as it does for a reader. */
function commitAll(folder: string): void {
  const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' })
  git('init', '-q')
  git('add', '.')
  git('-c', 'user.name=test', '-c', 'user.email=test@example.com', 'commit', '-q', '-m', 'As shipped')
}

/** Variables that one block sets are there in the next. */
function shell(folder: string, env: NodeJS.ProcessEnv, lines: readonly string[], first = ''): Promise<string> {
  const told = lines.map(
    (line) => `${onPorts(line, env)}\ncode=$?; [ $code = 0 ] || echo "failed $code: "${quoted(line)}`,
  )
  // A busy machine has more time than the second that a page waits.
  const longer = 'sleep() { command sleep 2; }'
  const script = [
    first,
    longer,
    'set -a',
    '[ -f .variables ] && . ./.variables',
    ...told,
    'export -p > .variables',
  ].join('\n')
  return new Promise((resolve) => {
    const child = execFile('bash', ['-c', script], { cwd: folder, env }, (_error, stdout, stderr) =>
      resolve(`${stdout}\n${stderr}`),
    )
    child.stdin?.end()
  })
}

async function serve(
  folder: string,
  env: NodeJS.ProcessEnv,
  { command, ready }: { readonly command: string; readonly ready: string },
): Promise<ChildProcess> {
  const child = spawn('bash', ['-c', command], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      said += chunk
    })
  }
  for (let i = 0; i < 600; i++) {
    if (said.includes(ready)) return child
    await sleep(50)
  }
  throw new Error(`\`${command}\` doesn't listen: ${said}`)
}

/** As Ctrl-C ends it. */
async function end(server: ChildProcess | undefined): Promise<void> {
  if (server?.pid === undefined) return
  const ended = once(server, 'close')
  process.kill(-server.pid, 'SIGINT')
  await ended
}

function onPorts(line: string, { PORT, ADMIN_PORT }: NodeJS.ProcessEnv): string {
  return line.replaceAll('127.0.0.1:3000', `127.0.0.1:${PORT}`).replaceAll('127.0.0.1:9090', `127.0.0.1:${ADMIN_PORT}`)
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
