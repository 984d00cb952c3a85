/** The thread that parses a large policy, so that no request waits for it: one policy after the other. */
import '../../base/node-24.ts'
import { flushCompileCache } from 'node:module'
import { deserialize } from 'node:v8'
import { parentPort, workerData } from 'node:worker_threads'
import { FileError } from '../../base/diagnostic.ts'
import { giveWay } from '../../base/thread-priority.ts'
import { buffersOf, packPolicy } from '../../decide/rules/rule-table.ts'
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import { refuseUnproven } from './refuse-unproven.ts'
import { type AskedParser, type FromParser, type ParserData, restoreResources } from './thread-resources.ts'

/** A new policy must be in force within a second, even if requests could use all processor time. */
const NICENESS = 2

const { resources: serialized, schemas } = workerData as ParserData

giveWay(NICENESS)
const resources = restoreResources(deserialize(serialized), schemas)
parentPort?.on('message', async (asked: AskedParser) => send(await parse(asked)))
// After the first policy: the next thread starts in a third of the time.
parentPort?.once('message', () => flushCompileCache())

async function parse({ files, inForce }: AskedParser): Promise<FromParser> {
  try {
    const policy = packPolicy(parsePolicy(files, resources))
    await refuseUnproven(files, resources, inForce)
    return { kind: 'policy', policy }
  } catch (error) {
    if (error instanceof FileError) return { kind: 'faulty', diagnostics: error.diagnostics, more: error.more }
    throw error
  }
}

function send(message: FromParser): void {
  parentPort?.postMessage(message, message.kind === 'policy' ? buffersOf(message.policy) : [])
}
