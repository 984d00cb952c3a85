/** The thread that parses a large policy, so that no request waits for it: one policy, and then it ends. */
import { parentPort, workerData } from 'node:worker_threads'
import { parsePolicy } from '../policy/parse-policy.ts'
import type { Rule } from '../policy/policy.ts'
import type { PolicyFiles } from '../policy/policy-files.ts'
import { FileError } from '../problems/diagnostic.ts'
import { parseResources } from '../resources/load-resources.ts'
import type { SourceText } from '../resources/schema-file.ts'
import type { FromParser } from './parse-messages.ts'

export interface ParserData {
  readonly files: PolicyFiles
  /** The schema files that the server runs with. */
  readonly schemas: readonly SourceText[]
}

/** Taken over by the server in about a millisecond. */
const RULES_AT_ONCE = 500

const { files, schemas } = workerData as ParserData
const { rules, answer } = parse()
const rest = [...rules]

parentPort?.on('message', () => tell({ kind: 'rules', rules: rest.splice(0, RULES_AT_ONCE) }))
tell(answer)

function parse(): { readonly rules: readonly Rule[]; readonly answer: FromParser } {
  try {
    const { rules, ...policy } = parsePolicy(files, parseResources(schemas))
    return { rules, answer: { kind: 'policy', policy } }
  } catch (error) {
    if (error instanceof FileError) return { rules: [], answer: { kind: 'faulty', diagnostics: error.diagnostics } }
    throw error
  }
}

function tell(message: FromParser): void {
  parentPort?.postMessage(message)
}
