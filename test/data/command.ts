/** `sallyport data …`, as its users run it, in a folder with policies and schemas. */
import { execFile } from 'node:child_process'

const LAUNCHER = new URL('../../bin/sallyport.js', import.meta.url).pathname

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface Place {
  readonly folder: string
  readonly env?: Readonly<Record<string, string>>
}

export function data(args: readonly string[], { folder, env = {} }: Place): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 }
    const child = execFile(process.execPath, [LAUNCHER, 'data', ...args], options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    )
    child.stdin?.end()
  })
}
