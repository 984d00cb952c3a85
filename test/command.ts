/** Commands of `sallyport`: within this process, which is fast, and as the program that users start. */
import { execFile } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { type CommandPlace, run, runAs } from '../src/cli/run.ts'

export const ROOT = new URL('..', import.meta.url).pathname
export const LAUNCHER = `${ROOT}bin/sallyport.js`

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Place {
  /** That of this process, if it isn't named. */
  readonly cwd?: string
  /** Beside those of the tests. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** For standard input, which is no terminal. */
  readonly input?: string
}

/** Runs a command within this process. */
export function sallyport(args: readonly string[], place: Place = {}): Promise<Ended> {
  return gathered(place, (here) => run(args, here))
}

/** What a part of the program prints, and the error with which it ends. */
export async function printedBy(
  work: () => Promise<unknown>,
  place: Place = {},
): Promise<Ended & { readonly error: Error | undefined }> {
  let error: Error | undefined
  const ended = await gathered(place, (here) =>
    runAs(here, async () => {
      await work().catch((reason: Error) => {
        error = reason
      })
    }),
  )
  return { ...ended, error }
}

async function gathered(
  { cwd = process.cwd(), env = {}, input = '' }: Place,
  work: (here: CommandPlace) => Promise<number>,
): Promise<Ended> {
  const stdout = new Text()
  const stderr = new Text()
  const code = await work({ cwd, env: { ...process.env, ...env }, stdin: Readable.from([input]), stdout, stderr })
  return { code, stdout: stdout.text, stderr: stderr.text }
}

/** Starts the program as its users do. */
export function startSallyport(
  args: readonly string[],
  { cwd = ROOT, env = {}, input = '' }: Place = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 }
    const child = execFile(process.execPath, [LAUNCHER, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    )
    child.stdin?.end(input)
  })
}

class Text extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8')
    done()
  }
}
