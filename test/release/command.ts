/** `sallyport policy …`, as its users run it. */
import { execFile } from 'node:child_process'

const ROOT = new URL('../..', import.meta.url).pathname

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** `program`: how it is started. */
export function policy(
  args: readonly string[],
  env: Record<string, string>,
  program: readonly string[] = [process.execPath, 'bin/sallyport.js'],
): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd: ROOT, env: { ...process.env, ...env } }
    const [file = '', ...rest] = [...program, 'policy', ...args]
    const child = execFile(file, rest, options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    )
    child.stdin?.end()
  })
}
