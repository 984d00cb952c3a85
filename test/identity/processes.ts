/** The program as processes of its own: servers that share a data folder, and commands beside them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { type Ended, LAUNCHER, ROOT, sallyport } from '../command.ts'

export { type Ended, LAUNCHER }

export interface ServerProcess {
  readonly url: string
  /** What it said so far on standard error. */
  log(): string
  /** Drains it. */
  stop(): Promise<void>
}

/** Ends once it listens; throws what it said when it didn't come to that. */
export async function startServer(dataDirectory: string, env: Record<string, string> = {}): Promise<ServerProcess> {
  const child = spawn(process.execPath, [LAUNCHER, 'serve'], {
    cwd: ROOT,
    env: { ...process.env, PORT: '0', ADMIN_PORT: '0', DATA_DIR: dataDirectory, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  return {
    url: await listening(child),
    log: () => said,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function listening(child: ChildProcess): Promise<string> {
  let said = ''
  return new Promise((resolve, reject) => {
    child.stderr?.on('data', (chunk) => {
      said += chunk
      const url = /"url":"([^"]+)".*"msg":"listening"/.exec(said)?.[1]
      if (url !== undefined) resolve(url)
    })
    child.once('exit', () => reject(new Error(`the server ended at once: ${said}`)))
  })
}

export function runCommand(
  dataDirectory: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return sallyport(args, { env: { DATA_DIR: dataDirectory, ...env } })
}
