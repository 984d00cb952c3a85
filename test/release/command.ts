/** `sallyport policy …`, as its users run it. */
import { execFile } from 'node:child_process'

const ROOT = new URL('../..', import.meta.url).pathname

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export function policy(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd: ROOT, env: { ...process.env, ...env } }
    const child = execFile(
      process.execPath,
      ['bin/sallyport.js', 'policy', ...args],
      options,
      (error, stdout, stderr) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    )
    child.stdin?.end()
  })
}
