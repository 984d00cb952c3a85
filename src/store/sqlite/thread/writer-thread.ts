/**
 * The thread of a server that writes: it has the one connection that does. What arrives while it waits for the disk
 * makes the next group (commits.ts), and a group is answered with one message.
 */
import '../../../base/node-24.ts'
import { parentPort } from 'node:worker_threads'
import { StoreUnavailable } from '../../errors.ts'
import { READ_BOUNDS } from '../../lists/read-bounds.ts'
import { answering, openDatabaseFile } from '../database.ts'
import { assemble } from '../engine.ts'
import { InstanceFile } from '../instances.ts'
import type { TablePlan } from '../layout/schema.ts'
import { identityOf, moved } from '../probe.ts'
import { type Answered, type Call, type Opening, plainFailure, type ToThread } from './messages.ts'
import { storeTargets } from './targets.ts'

type Targets = Readonly<Record<string, object>>
type Method = (...args: readonly unknown[]) => unknown

class Part {
  readonly #opening: Opening
  #targets: Promise<Targets> | undefined
  #now = 0

  constructor(opening: Opening) {
    this.#opening = opening
  }

  async run({ target, method, args, now }: Call): Promise<unknown> {
    this.#now = now
    // What could not be opened (another process has the file for itself, for example) is tried again by the next call.
    this.#targets ??= this.#open().catch((error) => {
      this.#targets = undefined
      throw error
    })
    const found = (await this.#targets)[target] as Record<string, Method> | undefined
    return found?.[method]?.(...args)
  }

  async #open(): Promise<Targets> {
    const { file, identity, content } = this.#opening
    // Opening would create a missing file, and the server reads another one.
    if (identityOf(file) !== identity) throw moved(file)
    return content.kind === 'store' ? this.#openStore(file, content.plans) : openInstances(file)
  }

  #openStore(file: string, plans: readonly TablePlan[]): Targets {
    const database = answering(() => openDatabaseFile(file))
    try {
      return storeTargets(assemble(database, { file, plans, bounds: READ_BOUNDS, now: () => new Date(this.#now) }))
    } catch (error) {
      database.close()
      throw new StoreUnavailable(error)
    }
  }
}

function openInstances(file: string): Targets {
  const instances = new InstanceFile(file)
  return { instances, part: { close: () => instances.close() } }
}

const parts = new Map<number, Part>()
let answers: Answered[] = []

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'open') parts.set(message.part, new Part(message.opening))
  else for (const call of message.calls) void answer(call)
})

async function answer(call: Call): Promise<void> {
  const { id } = call
  try {
    const value = await parts.get(call.part)?.run(call)
    send({ id, value })
  } catch (error) {
    send({ id, failure: plainFailure(error) })
  }
}

/** All that end together go together: the tick comes when no promise waits for its turn. */
function send(answer: Answered): void {
  if (answers.length === 0) process.nextTick(post)
  answers.push(answer)
}

function post(): void {
  const sent = answers
  answers = []
  parentPort?.postMessage(sent)
}
