/**
 * The program, which runs command lines in a process beside the server: it starts when it is needed, and ends when nobody
 * has asked for a while.
 */
import { type ChildProcess, fork } from 'node:child_process'
import type { FromProcess, ToProcess } from './question-messages.ts'

// .ts in a checkout, .js in the package.
const PROGRAM = new URL(`../../cli/question-process.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/** People ask one question after another, and a start takes longer than most answers. */
const IDLE_MS = 60_000
/** In characters of JSON. */
const LONGEST_ANSWER = 32_000_000
/** Of the heap of the process. */
const MOST_MEGABYTES = 1024

export interface RunnerOptions {
  /** Where the commands run, and look for matrices; that of this process when not given. */
  readonly folder?: string | undefined
  readonly idleMs?: number | undefined
  /** The process has ended: nobody asks for the moment. */
  readonly onEnd: () => void
}

/** One command at a time. */
export class CommandRunner {
  readonly #options: RunnerOptions
  #process: ChildProcess | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /** Throws the reason of `gone`, which ends the command. */
  async run(command: Omit<ToProcess, 'most'>, gone: AbortSignal): Promise<FromProcess> {
    gone.throwIfAborted()
    clearTimeout(this.#idle)
    this.#process ??= this.#start()
    const child = this.#process
    const { promise, resolve, reject } = Promise.withResolvers<FromProcess>()
    const { idleMs = IDLE_MS } = this.#options
    const ended = () => reject(new Error('the process of the question ended'))
    const left = () => reject(gone.reason)
    child.once('message', resolve).once('error', reject).once('exit', ended)
    gone.addEventListener('abort', left, { once: true })
    child.send({ ...command, most: LONGEST_ANSWER } satisfies ToProcess, (error) => error && reject(error))
    try {
      return await promise
    } catch (error) {
      // It may be in any state, so the next question gets a new one.
      this.end()
      throw error
    } finally {
      gone.removeEventListener('abort', left)
      child.off('message', resolve).off('error', reject).off('exit', ended)
      this.#idle = setTimeout(() => this.end(), idleMs).unref()
    }
  }

  #start(): ChildProcess {
    const child = fork(PROGRAM, {
      cwd: this.#options.folder ?? process.cwd(),
      execArgv: [`--max-old-space-size=${MOST_MEGABYTES}`],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    })
    // Each question has its own listener; an error between two makes the next one fail.
    child.on('error', () => {})
    child.once('exit', () => {
      if (this.#process === child) this.end()
    })
    child.unref()
    child.channel?.unref()
    return child
  }

  end(): void {
    clearTimeout(this.#idle)
    this.#process?.kill('SIGKILL')
    this.#process = undefined
    this.#options.onEnd()
  }
}
