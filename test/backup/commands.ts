/** The commands of backups as people run them, beside a running server. */
import { type ExecFileOptions, execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LAUNCHER, ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer, type TestServer } from '../server.ts'

export { LAUNCHER, ROOT }

interface Ended {
  /** The exit code, or the signal that ended it. */
  readonly code: unknown
  readonly stdout: string
  readonly stderr: string
}

export interface Commands {
  readonly server: TestServer
  /** Where the commands run. */
  readonly folder: string
  /** The settings of the server. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** In this process, with the most open of all umasks, one after the other. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>
  /** As a process. `first`: what the shell does before. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>, first?: string): Promise<Ended>
  stop(): Promise<void>
}

export async function startCommands(): Promise<Commands> {
  const server = await startTestServer({ demo: true })
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-backups-'))
  const environment = {
    PATH: process.env.PATH,
    DATA_DIR: join(server.folder, 'data'),
    POLICIES: join(server.folder, 'policies'),
    SCHEMAS: join(server.folder, 'schemas'),
  }
  return {
    server,
    folder,
    environment,
    run: async (args, env) => {
      const before = process.umask(0)
      try {
        return await sallyport(args, { cwd: folder, env: { ...environment, ...env } })
      } finally {
        process.umask(before)
      }
    },
    start: (args, env, first = 'umask 000') => {
      const script = ['-c', `${first}; exec "$@"`, 'sh', process.execPath, LAUNCHER, ...args]
      return ended(script, { cwd: folder, env: { ...environment, ...env } })
    },
    stop: async () => {
      await server.stop()
      await removeFolder(folder)
    },
  }
}

function ended(script: readonly string[], options: ExecFileOptions): Promise<Ended> {
  return new Promise((resolve) => {
    execFile('sh', script, { ...options, encoding: 'utf8' }, (error, stdout, stderr) => {
      resolve({ code: error ? (error.signal ?? error.code) : 0, stdout, stderr })
    })
  })
}
