/**
 * A thread that reads what takes long, on a connection of its own, one read after the other. A read sees the state that
 * is committed when it begins. It ends past its bound, and when nobody waits for it any more.
 */
import '../../../base/node-24.ts'
import type { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { giveWay } from '../../../base/thread-priority.ts'
import type { Store } from '../../contract.ts'
import type { JsonRow } from '../../lists/json-row.ts'
import { answering, CACHE, openReadOnly } from '../database.ts'
import { assemble } from '../engine.ts'
import { identityOf, moved } from '../probe.ts'
import { workOf } from '../query/work.ts'
import {
  type FromReader,
  type LongRead,
  type PlainRow,
  plainFailure,
  type ReaderData,
  type ToReader,
} from './messages.ts'

/** Requests come first. */
const NICENESS = 5

interface Reading {
  readonly database: DatabaseSync
  readonly store: Store
}

const data: ReaderData = workerData
let reading: Reading | undefined

giveWay(NICENESS)

parentPort?.on('message', async (message: ToReader) => parentPort?.postMessage(await answerTo(message)))

async function answerTo({ read, stop }: ToReader): Promise<FromReader> {
  try {
    // What could not be opened is tried again by the next read.
    reading ??= answering(open)
    const { database, store } = reading
    const isStopped = () => Atomics.load(stop, 0) !== 0
    // The store reads before it returns its promise.
    return await workOf(database).within({ isStopped }, () => answerOf(store, read))
  } catch (error) {
    return { kind: 'failure', failure: plainFailure(error) }
  }
}

async function answerOf(store: Store, { kind, resource, query }: LongRead): Promise<FromReader> {
  if (kind === 'count') return { kind, counted: await store.count(resource, query) }
  const rows = (await store.list(resource, query)) as readonly JsonRow[]
  return { kind, rows: rows.map(plainRow) }
}

function plainRow({ id, createdAt, updatedAt, text, marks }: JsonRow): PlainRow {
  return [id, createdAt, updatedAt, text, marks]
}

function open(): Reading {
  const { file, identity, plans, bounds } = data
  // The server reads another file.
  if (identityOf(file) !== identity) throw moved(file)
  const database = openReadOnly(file, { immutable: false })
  try {
    database.exec(CACHE)
    const { opened } = assemble(database, { file, plans, bounds, now: () => new Date() })
    return { database, store: opened.store }
  } catch (error) {
    database.close()
    throw error
  }
}
