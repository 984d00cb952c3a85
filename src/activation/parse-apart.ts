/** Parses a policy without holding up requests: a small one at once, a large one in a thread of its own. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { parsePolicy } from '../policy/parse-policy.ts'
import type { Policy, Rule } from '../policy/policy.ts'
import type { PolicyFiles } from '../policy/policy-files.ts'
import { FileError } from '../problems/diagnostic.ts'
import type { Resources } from '../resources/resource.ts'
import type { SourceText } from '../resources/schema-file.ts'
import type { FromParser, ToParser } from './parse-messages.ts'
import type { ParserData } from './parse-thread.ts'

// .ts in a checkout, .js in the package.
const THREAD = new URL(import.meta.url.endsWith('.ts') ? './parse-thread.ts' : './parse-thread.js', import.meta.url)

/** Characters; so much is parsed in less time than a thread takes to start: some 500 rules. */
const SMALL = 32_768

export interface ParserOptions {
  readonly resources: Resources
  /** What the resources were made of. */
  readonly schemas: readonly SourceText[]
  /** What the thread runs. */
  readonly program?: URL
}

/** Throws, or rejects with, FileError. A thread that fails is made up for here. */
export function createPolicyParser(options: ParserOptions): (files: PolicyFiles) => Policy | Promise<Policy> {
  const here = (files: PolicyFiles) => parsePolicy(files, options.resources)
  return (files) => {
    const size = Object.values(files).reduce((sum, { text }) => sum + text.length, 0)
    return size <= SMALL ? here(files) : parseApart(files, options).then((policy) => policy ?? here(files))
  }
}

/** Undefined when the thread ended without an answer. */
async function parseApart(
  files: PolicyFiles,
  { schemas, program = THREAD }: ParserOptions,
): Promise<Policy | undefined> {
  const workerData: ParserData = { files, schemas }
  const thread = new Worker(program, { workerData })
  thread.unref()
  const answers = listenTo(thread)
  try {
    const first = await answers.next()
    if (first?.kind === 'faulty') throw new FileError(first.diagnostics)
    const rules = first && (await takeRules(thread, answers))
    return first?.kind === 'policy' && rules ? { ...first.policy, rules } : undefined
  } finally {
    await thread.terminate()
  }
}

/** A few at a time, each in a turn of its own. */
async function takeRules(thread: Worker, answers: Answers): Promise<readonly Rule[] | undefined> {
  const rules: Rule[] = []
  for (;;) {
    const more: ToParser = 'more'
    thread.postMessage(more)
    const answer = await answers.next()
    if (answer?.kind !== 'rules') return undefined
    if (answer.rules.length === 0) return rules
    rules.push(...answer.rules)
    await nextTurn()
  }
}

interface Answers {
  /** Undefined once the thread has ended. */
  next(): Promise<FromParser | undefined>
}

function listenTo(thread: Worker): Answers {
  const { promise: ended, resolve: end } = Promise.withResolvers<undefined>()
  let { promise, resolve } = Promise.withResolvers<FromParser>()
  thread.on('message', (message: FromParser) => resolve(message))
  thread.once('exit', () => end(undefined))
  // What it was is made up for by parsing once more, which tells a fault of the program again.
  thread.once('error', () => end(undefined))
  return {
    async next() {
      const answer = await Promise.race([promise, ended])
      ;({ promise, resolve } = Promise.withResolvers<FromParser>())
      return answer
    },
  }
}
