/** Parses a policy without holding up requests: a small one at once, a large one in a thread of its own. */
import { serialize } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { FileError } from '../../base/diagnostic.ts'
import { type PackedPolicy, packPolicy } from '../../decide/rules/rule-table.ts'
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'
import type { SourceText } from '../../resources/schema/schema-file.ts'
import { type FromParser, type ParserData, plainResources } from './thread-resources.ts'

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
}

/** Throws, or rejects with, FileError. If the thread fails, the policy is parsed here. */
export function createPolicyParser({
  resources,
  schemas,
  program = THREAD,
}: ParserOptions): (files: PolicyFiles) => PackedPolicy | Promise<PackedPolicy> {
  // Kept, because serializing 500 resources takes milliseconds; made on first use, because a start must be fast.
  let serialized: Uint8Array | undefined
  const here = (files: PolicyFiles) => packPolicy(parsePolicy(files, resources))
  const apart = async (files: PolicyFiles) => {
    serialized ??= serialize(plainResources(resources))
    return (await parseApart({ files, schemas, resources: serialized }, program)) ?? here(files)
  }
  return (files) => {
    const size = Object.values(files).reduce((sum, { text }) => sum + text.length, 0)
    return size <= SMALL ? here(files) : apart(files)
  }
}

/** Undefined when the thread ended without an answer: parsing here once more reports the fault. */
async function parseApart(workerData: ParserData, program: URL): Promise<PackedPolicy | undefined> {
  const thread = new Worker(program, { workerData })
  thread.unref()
  const { promise, resolve } = Promise.withResolvers<FromParser | undefined>()
  thread.on('message', resolve)
  thread.on('error', () => resolve(undefined))
  thread.on('exit', () => resolve(undefined))
  const answer = await promise
  if (answer?.kind === 'faulty') throw new FileError(answer.diagnostics, answer.more)
  return answer?.policy
}
