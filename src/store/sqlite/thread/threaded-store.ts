/**
 * The store of a server: reads are answered here, on a connection of their own, and all writes are made by a thread
 * (program.ts). Nothing here waits for the disk or for another process's lock.
 */
import type { OpenedStore } from '../../contract.ts'
import type { Attempts, Directory } from '../../directory.ts'
import { StoreUnavailable } from '../../errors.ts'
import type { SqlCounters } from '../../sql/attempts.ts'
import type { InstanceDatabase } from '../../sql/instances.ts'
import { identityOf } from '../database.ts'
import type { Assembled, DatabaseParts } from '../engine.ts'
import { type ObjectWrites, type SqliteEngine, SqliteStore } from '../store.ts'
import { SqliteTransactions } from '../transactions.ts'
import { LongReads } from './long-reads.ts'
import type { ThreadMethod } from './messages.ts'
import { DatabaseThread, type Remote, ThreadPart } from './thread.ts'

/** One thread for all that this process writes: a database takes one writer at a time anyway. */
export const WRITER = new DatabaseThread({ name: 'writer', what: 'the thread that writes', restartMs: 1000 })

export function writeInThread({ engine, opened }: Assembled, { file, plans, now, bounds }: DatabaseParts): OpenedStore {
  const identity = identityOf(file)
  const long = new LongReads({ file, identity, content: { kind: 'reads', plans, bounds } }, bounds)
  const part = new ThreadPart(WRITER, { file, identity, content: { kind: 'store', plans } }, now)
  const asked = refusingWrites(engine)
  const remote = <T extends object>(target: string) => part.remote<T>(target, asked)
  const { directory, migrations, seeding, outbox, changes, deliveries } = opened
  const threaded = {
    writes: remote<ObjectWrites>('writes'),
    long,
    close: async () => void (await Promise.all([part.close(), long.close()])),
  }
  return {
    store: new SqliteStore(engine, threaded),
    seeding: readHere(seeding, remote('seeding'), ['readMark', 'count']),
    outbox: readHere(outbox, remote('outbox'), ['waiting', 'checkpointOf', 'offers', 'cosignaturesOf']),
    deliveries: readHere(deliveries, remote('deliveries'), ['kept', 'letters']),
    directory: readHere(directory, remote('directory'), READS_OF_DIRECTORY),
    changes: readHere(changes, remote('changes'), ['last', 'after', 'of', 'firstAfter', 'firstOfEach', 'onChange']),
    attempts: attemptsInThread(engine.counters, remote('counters')),
    // Only before a server listens: nobody waits for it yet, and the thread hasn't been asked for anything.
    migrations,
    transactions: new SqliteTransactions({
      ...{ file, plans, now, bounds, identity },
      // The thread may wait for the lock.
      others: { pause: () => undefined, resume: () => threaded.writes.probe() },
    }),
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

const READS_OF_DIRECTORY = [
  'accountStatus',
  'sessionStatus',
  'keyStatus',
  'person',
  'personByEmail',
  'people',
  'userOfSession',
  'keys',
] as const satisfies readonly (keyof Directory)[]

/** Reads are answered here, and the thread is asked for all else. */
function readHere<T extends object>(here: T, thread: Remote<T>, reads: readonly (keyof T)[]): T {
  const names = [...Object.keys(here), ...Object.getOwnPropertyNames(Object.getPrototypeOf(here))] as (keyof T)[]
  const methods = names.filter((name) => name !== 'constructor')
  return Object.fromEntries(
    methods.map((name) => [name, reads.includes(name) ? (here[name] as ThreadMethod).bind(here) : thread[name]]),
  ) as T
}

/** What instances share beside the store: reads here, changes by the thread. */
export function changedInThread(here: InstanceDatabase, file: string): InstanceDatabase {
  const opening = { file, identity: identityOf(file), content: { kind: 'instances' } } as const
  const part = new ThreadPart(WRITER, opening, () => new Date())
  const thread = part.remote<InstanceDatabase>('instances')
  return {
    ...here,
    change: (...statements) => thread.change(...statements),
    close: async () => {
      await part.close()
      await here.close()
    },
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
