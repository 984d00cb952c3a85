/**
 * The process that runs commands for the questions to a server (src/server/questions/command-runner.ts), so that no
 * request waits for them, and none of their memory is the server's.
 */
import '../base/node-24.ts'
import { Readable, Writable } from 'node:stream'
import { giveWay } from '../base/thread-priority.ts'
import type { FromProcess, ToProcess } from '../server/questions/question-messages.ts'
import { run } from './run.ts'

/** Requests get more of the CPU's time than questions. */
const NICENESS = 10

giveWay(NICENESS)
process.on('message', async ({ argv, env, most }: ToProcess) => {
  // Where it may leave what it needs in the middle: the server takes that away.
  process.env.TMPDIR = env.TMPDIR
  const [stdout, stderr] = [new BoundedOutput(most), new BoundedOutput(most)]
  const code = await run(argv, { cwd: process.cwd(), env, stdin: Readable.from([]), stdout, stderr })
  const answer: FromProcess = { code, stdout: stdout.text, stderr: stderr.text, isCut: stdout.isCut }
  process.send?.(answer)
})

/** Keeps what is written, up to a bound. */
class BoundedOutput extends Writable {
  text = ''
  isCut = false
  readonly #most: number

  constructor(most: number) {
    super({ decodeStrings: false })
    this.#most = most
  }

  override _write(chunk: string | Buffer, _: BufferEncoding, done: () => void): void {
    this.isCut ||= this.text.length + chunk.length > this.#most
    if (!this.isCut) this.text += chunk.toString()
    done()
  }
}
