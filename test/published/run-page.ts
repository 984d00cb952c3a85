/**
 * A page about published policies, run as printed in a folder of its own, with the server that it starts. The other
 * commands run in this process (test/page-commands.ts).
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Block, blocksOf } from '../documented.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { openPageCommands } from '../page-commands.ts'
import { program } from '../programs.ts'
import { freePort } from '../redis.ts'

const ROOT = new URL('../..', import.meta.url).pathname

export interface PageRun {
  readonly blocks: readonly Block[]
  /** What the commands of each block printed, and of each that failed its exit code. */
  readonly outputs: readonly string[]
  end(): Promise<void>
}

/** `serve`: the line that starts the server, which goes on until the end. */
export async function runPage(
  page: string,
  serve: string,
  programs: readonly Parameters<typeof program>[0][],
): Promise<PageRun> {
  for (const name of programs) program(name)
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
  for (const name of ['policies', 'schemas', 'package.json']) {
    await cp(join(ROOT, name), join(folder, name), { recursive: true })
  }
  for (const name of ['bin', 'src', 'node_modules']) await symlink(join(ROOT, name), join(folder, name))
  const env = { ...process.env, PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) }
  const blocks = blocksOf(await readFile(join(ROOT, page), 'utf8'))
  const inProcess = await openPageCommands()
  const run = (commands: readonly string[]) => shell(commands, { folder, env, first: inProcess.bash })
  const outputs: string[] = []
  let server: ChildProcess | undefined
  for (const { commands } of blocks) {
    const at = commands.indexOf(serve)
    if (at < 0) {
      outputs.push(await run(commands))
      continue
    }
    const before = await run(commands.slice(0, at))
    server = await started(serve, folder, env)
    outputs.push(before + (await run(commands.slice(at + 1))))
  }
  const end = async () => {
    // With the programs that npm started.
    if (server?.pid !== undefined) process.kill(-server.pid, 'SIGKILL')
    await inProcess.close()
    await removeFolder(folder)
  }
  return { blocks, outputs, end }
}

/** Exported variables stay from block to block. */
const VARIABLES = '[ -f .variables ] && . ./.variables'

interface Shell {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  /** What Bash reads before the commands. */
  readonly first: string
}

function shell(commands: readonly string[], { folder, env, first }: Shell): Promise<string> {
  const told = commands.map((command) => {
    // A busy machine has more time than the page gives.
    const run = command
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${env.PORT}`)
      .replace('--wait 10s', '--wait 20s')
      .replace('--wait 3s', '--wait 8s')
      .replace('--not-before 30s', '--not-before 60s')
      .replace('sleep 35', "for i in $(seq 150); do grep -q 'whose time had come' server.log && break; sleep 1; done")
    const name = command.split('\n')[0]?.replaceAll("'", '')
    return `${run}\ncode=$?; [ $code = 0 ] || printf '\\nfailed %s: %s\\n' $code '${name}'`
  })
  const script = [first, VARIABLES, ...told, "export -p | grep ' POLIC' > .variables"].join('\n')
  return new Promise((resolve) => {
    const child = execFile('bash', ['-c', script], { cwd: folder, env }, (_error, stdout, stderr) =>
      resolve(`${stdout}\n${stderr}`),
    )
    // Bash hands standard input to the commands, which would wait for its end.
    child.stdin?.end()
  })
}

async function started(serve: string, folder: string, env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const script = `${VARIABLES}\n${serve}`
  const keys = { POLICY_PUBLIC_KEYS: 'policy-public.pem' }
  const server = spawn('bash', ['-c', script], {
    cwd: folder,
    env: { ...env, ...keys },
    detached: true,
    stdio: 'ignore',
  })
  for (let i = 0; i < 600; i++) {
    const log = await readFile(join(folder, 'server.log'), 'utf8').catch(() => '')
    if (log.includes('"msg":"listening"')) return server
    await sleep(50)
  }
  throw new Error(`the server doesn't listen: ${await readFile(join(folder, 'server.log'), 'utf8')}`)
}
