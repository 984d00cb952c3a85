/**
 * The store of a server: reads are answered here, on a connection of their own, and all writes are made by the thread
 * (writer-thread.ts). Nothing here waits for the disk or for another process's lock.
 */

import type { Lookup } from '../../../decide/conditions/condition.ts'
import { createdObject, type Permit, type PermitKind, updatedObject } from '../../../decide/permits/permit.ts'
import type { StoredObject } from '../../../resources/object.ts'
import type {
  CreateOptions,
  ObjectQuery,
  OpenedStore,
  Outbox,
  ReadBy,
  ReplayKey,
  Seeding,
  Store,
  WriteOptions,
} from '../../contract.ts'
import type { Attempts, Directory } from '../../directory.ts'
import { StoreUnavailable } from '../../errors.ts'
import type { SqlCounters } from '../../sql/attempts.ts'
import { PROBED, readMark, readSecret } from '../../sql/named-values.ts'
import { answering } from '../database.ts'
import type { Assembled, DatabaseParts } from '../engine.ts'
import { identityOf, SqliteProbe } from '../probe.ts'
import { PastBound, type WorkBound } from '../query/work.ts'
import { type SqliteEngine, tableOf } from '../store.ts'
import { LongReads } from './long-reads.ts'
import type { Remote, StoreTargets } from './targets.ts'
import { WriterPart } from './writer.ts'

/** Longer than a group waits for another process's lock. */
const PROBE_MS = 2500

export function writeInThread({ engine, opened }: Assembled, { file, plans, now, bounds }: DatabaseParts): OpenedStore {
  const identity = identityOf(file)
  const long = new LongReads({ file, identity, plans, bounds })
  const part = new WriterPart({ file, identity, content: { kind: 'store', plans } }, now)
  const asked = refusingWrites(engine)
  const remote = <T extends keyof StoreTargets>(target: T) => part.remote<StoreTargets[T]>(target, asked)
  const counters = remote('counters')
  const { directory, migrations } = opened
  return {
    store: new ThreadedStore({ engine, here: opened.store, part, long, file }, remote('objects')),
    seeding: seedingInThread(opened.seeding, remote('seeding')),
    outbox: outboxInThread(opened.outbox, remote('outbox')),
    directory: directoryInThread(directory, remote('directory')),
    attempts: attemptsInThread(engine.counters, counters),
    // Only before a server listens: nobody waits for it yet, and the thread hasn't been asked for anything.
    migrations,
  }
}

/** From the first write of the thread on, two writers of one process could wait for each other. */
function refusingWrites({ database }: SqliteEngine): () => void {
  let refuses = false
  return () => {
    if (refuses || !database.isOpen) return
    refuses = true
    database.exec('pragma query_only = on')
  }
}

interface StoreParts {
  readonly engine: SqliteEngine
  readonly here: Store
  readonly part: WriterPart
  readonly long: LongReads
  readonly file: string
}

class ThreadedStore implements Store {
  readonly #parts: StoreParts
  readonly #objects: Remote<StoreTargets['objects']>
  readonly #probe: SqliteProbe

  constructor(parts: StoreParts, objects: Remote<StoreTargets['objects']>) {
    this.#parts = parts
    this.#objects = objects
    this.#probe = new SqliteProbe(parts.file, () => within(PROBE_MS, objects.probe()))
  }

  get(resource: string, id: string) {
    return this.#parts.here.get(resource, id)
  }

  async list(resource: string, query: ObjectQuery, by?: ReadBy) {
    const { lists } = tableOf(this.#parts.engine, resource)
    const found = answering(() => unlessPast(() => lists.list(query, this.#bound)))
    return found ?? this.#parts.long.list(resource, query, by)
  }

  async count(resource: string, query: Pick<ObjectQuery, 'where' | 'filter'>, by?: ReadBy) {
    const { lists } = tableOf(this.#parts.engine, resource)
    const found = answering(() => unlessPast(() => lists.count(query, this.#bound)))
    return found === undefined ? this.#parts.long.count(resource, query, by) : { found, isExact: true }
  }

  /** Most reads take less; others go on beside this thread. */
  get #bound(): WorkBound {
    return { ms: this.#parts.engine.bounds.hereMs }
  }

  lookup(lookup: Lookup) {
    return this.#parts.here.lookup(lookup)
  }

  atOnce<T>(work: () => T): T {
    return this.#parts.here.atOnce(work)
  }

  kept(key: ReplayKey) {
    return this.#parts.here.kept(key)
  }

  lookupAfter(permit: Permit<'create'> | Permit<'update'>, lookup: Lookup) {
    return this.#objects.lookupAfter(withoutEvidence(permit), lookup)
  }

  async create(permit: Permit<'create'>, options: CreateOptions = {}): Promise<StoredObject> {
    const time = this.#timeOf(options)
    await this.#objects.create(withoutEvidence(permit), { ...options, time })
    return createdObject(permit, time)
  }

  async update(permit: Permit<'update'>, options: WriteOptions = {}): Promise<StoredObject> {
    const time = this.#timeOf(options)
    const createdAt = await this.#objects.update(withoutEvidence(permit), { ...options, time })
    return updatedObject(permit, { createdAt }, time)
  }

  delete(permit: Permit<'delete'>, options: WriteOptions = {}) {
    return this.#objects.delete(withoutEvidence(permit), options)
  }

  async secret(name: string): Promise<Uint8Array> {
    const [kept] = await this.#parts.engine.sql.ask(readSecret(name))
    return kept ? (kept[0] as Uint8Array) : this.#objects.secret(name)
  }

  async ping(): Promise<void> {
    await this.#parts.engine.sql.ask(readMark(PROBED))
    await this.#probe.ask()
  }

  async close(): Promise<void> {
    const { part, here, long } = this.#parts
    await Promise.all([part.close(), long.close()])
    await here.close()
  }

  #timeOf({ time }: WriteOptions): string {
    return time ?? this.#parts.engine.now().toISOString()
  }
}

/** Undefined where the read is past its bound. */
function unlessPast<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof PastBound) return undefined
    throw error
  }
}

const NO_EVIDENCE = { relations: [], lines: [], fieldsRefused: [], facts: {} }

/** It is in the record already. */
function withoutEvidence<P extends Permit<PermitKind>>(permit: P): P {
  return { ...permit, evidence: NO_EVIDENCE }
}

function seedingInThread(here: Seeding, thread: Remote<Seeding>): Seeding {
  return {
    insert: (resource, objects) => thread.insert(resource, objects),
    replace: (resource, object) => thread.replace(resource, object),
    readMark: (name) => here.readMark(name),
    writeMark: (name, value) => thread.writeMark(name, value),
    count: (resource) => here.count(resource),
  }
}

function outboxInThread(here: Outbox, thread: Remote<Outbox>): Outbox {
  return {
    waiting: (limit) => here.waiting(limit),
    note: (records) => thread.note(records),
    shipped: (sequence) => thread.shipped(sequence),
    hold: (holder) => thread.hold(holder),
    release: (holder) => thread.release(holder),
  }
}

/** Rejects if the work takes longer. A disk may not answer for minutes, and readiness must tell. */
function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const late = new StoreUnavailable(new Error(`a write took longer than ${milliseconds} ms`))
  const timer = setTimeout(() => reject(late), milliseconds)
  return Promise.race([work, promise]).finally(() => clearTimeout(timer))
}

function directoryInThread(here: Directory, thread: Remote<Directory>): Directory {
  return {
    standing: (subject) => here.standing(subject),
    sessionStanding: (subject, session) => here.sessionStanding(subject, session),
    keyStanding: (id) => here.keyStanding(id),
    person: (id) => here.person(id),
    personByEmail: (email) => here.personByEmail(email),
    people: () => here.people(),
    userOfSession: (id) => here.userOfSession(id),
    keys: () => here.keys(),
    addFirst: (user, password) => thread.addFirst(user, password),
    setPassword: (userId, password) => thread.setPassword(userId, password),
    rehash: (userId, hash, better) => thread.rehash(userId, hash, better),
    disable: (subject) => thread.disable(subject),
    enable: (subject) => thread.enable(subject),
    openSession: (session, verified, record) => thread.openSession(session, verified, record),
    refreshSession: (refresh, records) => thread.refreshSession(refresh, records),
    endSession: (id, record) => thread.endSession(id, record),
    addKey: (key) => thread.addKey(key),
    revokeKey: (id) => thread.revokeKey(id),
    noteKeyUses: (uses) => thread.noteKeyUses(uses),
  }
}

/** Whoever comes late was overtaken by another one, so this is far more than happens. */
const MOST_TRIES = 1000

/** Judged here, because the thread takes plain data only. What rests on counters that others have changed is judged again. */
function attemptsInThread(here: SqlCounters, thread: Pick<Remote<SqlCounters>, 'put'>): Attempts {
  return {
    async count(keys, judge) {
      let seen = await here.read(keys)
      for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
        const { verdict, changes } = judge(seen)
        const others = changes && (await thread.put({ keys, seen, changes }))
        if (!others) return verdict
        seen = others
      }
      throw new StoreUnavailable(new Error('others change the counters of failed sign-ins all the time'))
    },
  }
}
