/** `serve --workers N` as a program of its own, in a folder with `policies`, and what tests must know of its processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { endWithTests } from '../ends-with-tests.ts'
import { until } from '../until.ts'

const ROOT = new URL('../..', import.meta.url).pathname

export interface ServedCluster {
  readonly url: string
  readonly adminUrl: string
  readonly child: ChildProcess
  /** Ordinary log lines so far. */
  readonly log: () => string
  readonly exit: Promise<number | null>
}

/** Throws with its exit code and its log, if it ends instead. */
export async function startCluster(
  folder: string,
  env: Readonly<Record<string, string>>,
  workers = 2,
): Promise<ServedCluster> {
  const child = endWithTests(
    spawn(process.execPath, [join(ROOT, 'bin/sallyport.js'), 'serve', '--workers', String(workers)], {
      cwd: ROOT,
      env: {
        ...process.env,
        PORT: '0',
        ADMIN_PORT: '0',
        DATA_DIR: join(folder, 'data'),
        POLICIES: join(folder, 'policies'),
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    }),
  )
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve))
  let ended: number | null | undefined
  void exit.then((code) => {
    ended = code
  })
  await until(() => ended !== undefined || said.includes('"listening"'))
  if (ended !== undefined) throw new Error(`exit ${ended}: ${said}`)
  const line = said.split('\n').find((one) => one.includes('"listening"')) ?? ''
  const { url, admin } = JSON.parse(line)
  return { url, adminUrl: admin, child, log: () => said, exit }
}

/** Process ids. */
export async function childrenOf({ pid }: ChildProcess): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.trim().split(' ').filter(Boolean).map(Number)
}
