/**
 * Parses a policy without holding up requests: a small one at once; a large one, or one with guarantees to prove, in a
 * thread of its own. Edits come in series, so the thread stays for a while: starting it takes more time than parsing ten
 * thousand rules.
 */
import { serialize } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { FileError } from '../../base/diagnostic.ts'
import { type PackedPolicy, packPolicy } from '../../decide/rules/rule-table.ts'
import type { LivePolicyOptions } from '../../policy/live/live-policy.ts'
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'
import type { SourceText } from '../../resources/schema/schema-file.ts'
import { refuseUnproven } from './refuse-unproven.ts'
import { type AskedParser, type FromParser, type ParserData, plainResources } from './thread-resources.ts'

// .ts in a checkout, .js in the package.
const THREAD = new URL(import.meta.url.endsWith('.ts') ? './parse-thread.ts' : './parse-thread.js', import.meta.url)

/** In characters, some 500 rules: parsing them takes less time than starting a thread. */
const SMALL = 32_768

export interface ParserOptions {
  readonly resources: Resources
  /** The schema files of the resources. */
  readonly schemas: readonly SourceText[]
  /** What the thread runs. */
  readonly program?: URL
  /** The thread ends when it had nothing to parse for this time. */
  readonly idleMs?: number
}

const IDLE_MS = 60_000

/** Throws, or rejects with, FileError. If the thread fails, the policy is parsed here. */
export function createPolicyParser(options: ParserOptions): NonNullable<LivePolicyOptions['parse']> {
  const threads = new ParserThreads(options)
  const here = (files: PolicyFiles) => packPolicy(parsePolicy(files, options.resources))
  const apart = async (files: PolicyFiles, inForce?: PolicyFiles) => {
    const parsed = await threads.parse({ files, inForce })
    if (parsed) return parsed
    await refuseUnproven(files, options.resources, inForce)
    return here(files)
  }
  return (files, inForce) => {
    const size = Object.values(files).reduce((sum, { text }) => sum + text.length, 0)
    return size <= SMALL && !files['guarantees.yaml'] ? here(files) : apart(files, inForce)
  }
}

/** One thread, and another for each policy that comes while it is busy; at most one stays. */
class ParserThreads {
  readonly #options: ParserOptions
  /** Kept, because serializing 500 resources takes milliseconds; made on first use, because a start must be fast. */
  #resources: Uint8Array | undefined
  #idle: { readonly thread: Worker; readonly end: NodeJS.Timeout } | undefined

  constructor(options: ParserOptions) {
    this.#options = options
  }

  /** Undefined when the thread ended without an answer: parsing once more without it reports the fault. */
  async parse(asked: AskedParser): Promise<PackedPolicy | undefined> {
    const thread = this.#takeIdle() ?? this.#start()
    const { promise, resolve } = Promise.withResolvers<FromParser | undefined>()
    const ended = () => resolve(undefined)
    thread.once('message', resolve).once('exit', ended)
    thread.postMessage(asked)
    const answer = await promise
    thread.off('message', resolve).off('exit', ended)
    if (answer) this.#keep(thread)
    if (answer?.kind === 'faulty') throw new FileError(answer.diagnostics, answer.more)
    return answer?.policy
  }

  #takeIdle(): Worker | undefined {
    const { thread, end } = this.#idle ?? {}
    clearTimeout(end)
    this.#idle = undefined
    return thread
  }

  #start(): Worker {
    const { resources, schemas, program = THREAD } = this.#options
    this.#resources ??= serialize(plainResources(resources))
    const workerData: ParserData = { schemas, resources: this.#resources }
    const thread = new Worker(program, { workerData })
    // It exits after an error.
    thread.on('error', () => {})
    thread.on('exit', () => {
      if (this.#idle?.thread === thread) this.#takeIdle()
    })
    thread.unref()
    return thread
  }

  #keep(thread: Worker): void {
    // It ended together with its answer.
    if (thread.threadId === -1) return
    this.#takeIdle()?.terminate()
    const end = setTimeout(() => this.#takeIdle()?.terminate(), this.#options.idleMs ?? IDLE_MS).unref()
    this.#idle = { thread, end }
  }
}
