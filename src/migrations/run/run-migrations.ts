/**
 * Runs migrations: all pending ones in one pass over the objects, in batches. Each batch commits as a whole with its
 * records and its place, so a run that was killed goes on where it was.
 */

import { randomUUID } from 'node:crypto'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { MASKED } from '../../decision-log/decision-record.ts'
import { recordLine } from '../../decision-log/record-line.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import { LeaseLost } from '../../store/errors.ts'
import type { Batch, Changed, Migrations } from '../../store/migrations.ts'
import type { ParsedMigration } from '../file/read-migrations.ts'
import { schemasOf, uncheckedSchemas } from '../fit/schemas.ts'
import { changeObject, type RefusedChange } from '../steps/apply-step.ts'
import type { Migration } from '../steps/step.ts'
import { byBytes, MigrationRefused, type ObjectRange, type PendingMigration, pendingOf, rangesOf } from './pending.ts'
import { type Rehearsal, rehearse } from './rehearse.ts'

export interface MigrateOptions {
  readonly store: Migrations
  readonly resources: Resources
  readonly files: readonly ParsedMigration[]
  readonly now: () => Date
  /** Whether masks.yaml hides the ids of objects in records. */
  readonly hidesIds: (resource: string) => boolean
  readonly refused?: RefusedChange | undefined
  /** Stops after the batch that runs. */
  readonly signal?: AbortSignal
  /** How long to wait for another process that migrates, in milliseconds. */
  readonly patienceMs?: number
  /** The most objects of a batch. */
  readonly atOnce?: number
  /** What a rehearsal without findings has looked at just now; it is not repeated. */
  readonly rehearsed?: Rehearsal
  /** Called once the run has the lease, before it changes anything. */
  readonly onBegin?: (pending: readonly PendingMigration[]) => Promise<void> | void
  /** Gets the number of objects that were looked at, first all of them before anything is changed, and then in batches. */
  readonly onProgress?: (phase: 'checking' | 'changing', objects: number) => void
}

export interface RunResult {
  /** `unfit`: nothing was changed, because objects wouldn't fit the schemas after the last step. */
  readonly kind: 'ended' | 'stopped' | 'unfit'
  readonly ran: readonly PendingMigration[]
  /** The objects that were changed or deleted. */
  readonly objects: number
  readonly rehearsal: Rehearsal
}

/** How many objects a batch has: writes of clients wait for it, and it shares one wait for the disk. */
const AT_ONCE = 1000
/** Longer than the lease of a dead process lasts. */
const PATIENCE_MS = 6000
const BETWEEN_TRIES_MS = 100
/** As long as SQLite waits between two tries to write. */
const LONGEST_PAUSE_MS = 100

/**
 * Throws MigrationRefused, FileError, UnfitObject (for an object that was written meanwhile), LeaseLost, and what the
 * store throws.
 */
export async function runMigrations(options: MigrateOptions): Promise<RunResult> {
  const { store } = options
  const holder = randomUUID()
  await acquire(options, holder)
  try {
    return await new MigrationRun(options, holder).run()
  } finally {
    // Without this, the next run waits some seconds.
    await store.release(holder).catch(() => undefined)
  }
}

async function acquire({ store, patienceMs = PATIENCE_MS }: MigrateOptions, holder: string): Promise<void> {
  const until = performance.now() + patienceMs
  while (!(await store.hold(holder))) {
    if (performance.now() > until) {
      throw new MigrationRefused('another process migrates this database: wait until it has ended')
    }
    await sleep(BETWEEN_TRIES_MS)
  }
}

class MigrationRun {
  readonly #options: MigrateOptions
  readonly #holder: string
  #objects = 0

  constructor(options: MigrateOptions, holder: string) {
    this.#options = options
    this.#holder = holder
  }

  async run(): Promise<RunResult> {
    const { store, resources, files, onBegin, signal, rehearsed } = this.#options
    // Read under the lease: another process may just have ended them.
    const ran = pendingOf(files, await store.stored(), resources)
    const rehearsal = rehearsed ?? (await this.#rehearse(ran))
    const result = (kind: RunResult['kind']) => ({ kind, ran, objects: this.#objects, rehearsal })
    if (signal?.aborted) return result('stopped')
    if (rehearsal.misfits > 0) return result('unfit')
    await onBegin?.(ran)
    if (ran.length > 0) await store.begin(this.#holder, ran, this.#time())
    for (const resource of namedIn(ran, resources)) {
      if (!(await this.#migrate(resource, ran))) return result('stopped')
    }
    await this.#hold()
    const numbers = ran.map(({ number }) => number)
    const fitted = ran.length > 0 ? uncheckedSchemas(resources) : schemasOf(resources)
    await store.end(this.#holder, numbers, fitted, this.#time())
    return result('ended')
  }

  async #rehearse(pending: readonly PendingMigration[]): Promise<Rehearsal> {
    const { store, resources, refused, onProgress, signal } = this.#options
    const fitted = await store.fitted()
    const onRead = async (count: number) => {
      onProgress?.('checking', count)
      await this.#hold()
      return !signal?.aborted
    }
    return rehearse({ store, resources, pending, fitted, refused, onRead })
  }

  /** False if it was stopped. */
  async #migrate(resource: Resource, pending: readonly PendingMigration[]): Promise<boolean> {
    const { store, onProgress, signal, atOnce = AT_ONCE } = this.#options
    for await (const range of rangesOf(store, resource.name, pending, atOnce)) {
      if (signal?.aborted) return false
      await this.#hold()
      const begun = performance.now()
      await store.change(this.#batchOf(resource, range))
      await sleep(pauseAfter(performance.now() - begun))
      onProgress?.('changing', range.objects.length)
    }
    return true
  }

  #batchOf(resource: Resource, { after, upTo, objects, needed }: ObjectRange): Batch {
    const plan: Batch['plan'] = (object) => changeObject(resource, object, needed, this.#options.refused)
    const [time, started] = [this.#time(), performance.now()]
    let counted = 0
    return {
      holder: this.#holder,
      resource: resource.name,
      after,
      upTo,
      planned: objects.map((object) => ({ object, change: plan(object) })),
      plan,
      time,
      end: (all) => {
        this.#objects += all.length - counted
        counted = all.length
        const batches = needed.map((migration) => ({ migration, changed: changedBy(migration, all) }))
        const { hidesIds } = this.#options
        return {
          records: batches
            .filter(({ changed }) => changed.length > 0)
            .map((batch) => migrationRecord({ ...batch, resource: resource.name, time, started, hidesIds })),
          reached: batches.map(({ migration, changed }) => ({ number: migration.number, objects: changed.length })),
        }
      },
    }
  }

  /** Lets signals and timers run between batches, too. */
  async #hold(): Promise<void> {
    await setImmediate()
    if (!(await this.#options.store.hold(this.#holder))) throw new LeaseLost()
  }

  #time(): string {
    return this.#options.now().toISOString()
  }
}

/** Writers of other processes on one file try again from time to time, so slow batches leave them gaps. */
function pauseAfter(batchMs: number): number {
  return Math.min(LONGEST_PAUSE_MS, batchMs / 10)
}

/** In the order of places. */
function namedIn(pending: readonly PendingMigration[], resources: Resources): readonly Resource[] {
  const named = storedResources(resources).filter(({ name }) => pending.some(({ steps }) => steps.has(name)))
  return named.toSorted((a, b) => byBytes(a.name, b.name))
}

function changedBy({ number }: PendingMigration, all: readonly Changed[]): RecordedBatch['changed'] {
  const by = all.filter(({ change }) => change.by.includes(number))
  return by.map(({ id, change }) => ({ id, isDeleted: change.kind === 'delete' && change.by.at(-1) === number }))
}

/** What one migration did to the objects of a batch: for its decision record. */
interface RecordedBatch {
  readonly migration: Pick<Migration, 'name' | 'digest'>
  readonly resource: string
  readonly changed: readonly { readonly id: string; readonly isDeleted: boolean }[]
  /** RFC 3339, UTC, milliseconds. */
  readonly time: string
  readonly started: number
  /** Whether masks.yaml hides the ids of a resource's objects. */
  readonly hidesIds: (resource: string) => boolean
}

const REVISION_LENGTH = 16

/** One line, without its end. */
function migrationRecord({ migration, resource, changed, time, started, hidesIds }: RecordedBatch): string {
  const areHidden = hidesIds(resource)
  const idsWhere = (deleted: boolean) => {
    return changed.filter(({ isDeleted }) => isDeleted === deleted).map(({ id }) => (areHidden ? MASKED : id))
  }
  return recordLine({
    time,
    requestId: randomUUID(),
    revision: migration.digest.slice(0, REVISION_LENGTH),
    method: 'MIGRATE',
    resource,
    action: 'migrate',
    subject: `migration:${migration.name.slice(0, 4)}`,
    outcome: 'allowed',
    status: 200,
    migrated: { changed: idsWhere(false), deleted: idsWhere(true) },
    microseconds: Math.round((performance.now() - started) * 1000),
  })
}
