/**
 * A thread that works on databases for its process, each on a connection of its own. One writes: what arrives while it
 * waits for the disk makes the next group (commits.ts), and a group is answered with one message. Others read what takes
 * long; each such read sees the state that is committed when it begins.
 */
import '../../../base/node-24.ts'
import { parentPort, workerData } from 'node:worker_threads'
import { giveWay } from '../../../base/thread-priority.ts'
import type { AggregateQuery, ObjectQuery } from '../../contract.ts'
import { StoreUnavailable } from '../../errors.ts'
import type { JsonRow } from '../../lists/json-row.ts'
import { READ_BOUNDS } from '../../lists/read-bounds.ts'
import { answering, CACHE, identityOf, moved, openDatabaseFile, openReadOnly } from '../database.ts'
import { type Assembled, assemble, openInstanceFile } from '../engine.ts'
import { workOf } from '../query/work.ts'
import {
  type Call,
  type Opening,
  type PlainRow,
  plainFailure,
  type ThreadAnswer,
  type ThreadMethod,
  type ToThread,
} from './messages.ts'

type ThreadTargets = Readonly<Record<string, object>>
class ServedObject {
  readonly #opening: Opening
  #targets: Promise<ThreadTargets> | undefined
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
    const found = (await this.#targets)[target] as Record<string, ThreadMethod> | undefined
    return found?.[method]?.(...args)
  }

  async #open(): Promise<ThreadTargets> {
    const { file, identity, content } = this.#opening
    // Opening would create a missing file, and the server reads another one.
    if (identityOf(file) !== identity) throw moved(file)
    if (content.kind === 'instances') {
      const instances = openInstanceFile(file)
      return { instances, part: { close: () => instances.close() } }
    }
    const { plans } = content
    const isRead = content.kind === 'reads'
    const database = answering(() => (isRead ? openReadOnly(file, { immutable: false }) : openDatabaseFile(file)))
    try {
      if (isRead) database.exec(CACHE)
      const bounds = isRead ? content.bounds : READ_BOUNDS
      const parts = assemble(database, { file, plans, bounds, now: () => new Date(this.#now) })
      return isRead ? { reads: readsOf(parts) } : writesOf(parts)
    } catch (error) {
      database.close()
      throw new StoreUnavailable(error)
    }
  }
}

/** All that is given and returned is plain data. */
function writesOf({
  engine,
  opened: { store, seeding, outbox, directory, changes, deliveries },
}: Assembled): ThreadTargets {
  const { writes, counters } = engine
  return { writes, seeding, outbox, directory, changes, deliveries, counters, part: { close: () => store.close() } }
}

export type Reads = ReturnType<typeof readsOf>

function readsOf({ engine, opened: { store } }: Assembled) {
  const work = workOf(engine.database)
  /** `stop` isn't zero when nobody waits for the answer any more. The store reads before it returns its promise. */
  const until = <T>(stop: Int32Array, read: () => T) =>
    work.within({ isStopped: () => Atomics.load(stop, 0) !== 0 }, read)
  return {
    list: async (stop: Int32Array, resource: string, query: ObjectQuery): Promise<readonly PlainRow[]> => {
      const rows = (await until(stop, () => store.list(resource, query))) as readonly JsonRow[]
      return rows.map(({ id, createdAt, updatedAt, text, marks }) => [id, createdAt, updatedAt, text, marks])
    },
    count: (stop: Int32Array, resource: string, query: Pick<ObjectQuery, 'where' | 'filter'>) =>
      until(stop, () => store.count(resource, query)),
    aggregate: (stop: Int32Array, resource: string, query: AggregateQuery) =>
      until(stop, () => store.aggregate(resource, query)),
  }
}

if (workerData?.niceness) giveWay(workerData.niceness)

const parts = new Map<number, ServedObject>()
let answers: ThreadAnswer[] = []

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'open') parts.set(message.part, new ServedObject(message.opening))
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
function send(answer: ThreadAnswer): void {
  if (answers.length === 0) process.nextTick(post)
  answers.push(answer)
}

function post(): void {
  const sent = answers
  answers = []
  parentPort?.postMessage(sent)
}
