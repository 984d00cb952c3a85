/** What a run would do, found out without changing anything: counts, examples, and the objects that would stop it. */
import type { Document, StoredObject } from '../../resources/object.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import { storedResources } from '../../resources/stored-resources.ts'
import { UnfitObject } from '../../store/errors.ts'
import type { FittedSchemas, Migrations } from '../../store/migrations.ts'
import { changedResources } from '../fit/schemas.ts'
import { changeObject, type RefusedChange } from '../steps/apply-step.ts'
import type { Migration } from '../steps/step.ts'
import { type PendingMigration, rangesOf } from './pending.ts'

export interface Rehearsal {
  /** The number of objects that were looked at. */
  readonly read: number
  /** By the number of a migration: the objects that it changes or deletes. */
  readonly byMigration: ReadonlyMap<number, { readonly changed: number; readonly deleted: number }>
  readonly examples: readonly MigrationExample[]
  /** The number of objects that would stop the run, and the first of them. */
  readonly misfits: number
  readonly firstMisfits: readonly UnfitObject[]
}

interface MigrationExample {
  readonly resource: string
  readonly id: string
  readonly before: Document
  /** Null for an object that is deleted. */
  readonly after: Document | null
}

export interface RehearsalOptions {
  readonly store: Pick<Migrations, 'objects'>
  readonly resources: Resources
  readonly pending: readonly PendingMigration[]
  /** What the data last fitted: objects of unchanged schemas without steps aren't looked at. */
  readonly fitted: FittedSchemas | undefined
  readonly refused?: RefusedChange | undefined
  /** Stops at so many misfits. */
  readonly mostMisfits?: number
  /** Gets the number of further objects that were looked at; false stops. */
  readonly onRead?: (count: number) => Promise<boolean>
}

const AT_ONCE = 1000
const MOST_EXAMPLES = 10
const MOST_SHOWN_MISFITS = 10

export async function rehearse(options: RehearsalOptions): Promise<Rehearsal> {
  const { mostMisfits = Number.POSITIVE_INFINITY, onRead } = options
  const tally = new RehearsalTally()
  for await (const { resource, objects, needed } of partsOf(options)) {
    for (const object of objects) tally.note(resource, object, needed, options.refused)
    const goesOn = (await onRead?.(objects.length)) ?? true
    if (!goesOn || tally.misfits >= mostMisfits) break
  }
  return tally
}

interface RehearsedPart {
  readonly resource: Resource
  readonly objects: readonly StoredObject[]
  readonly needed: readonly Migration[]
}

/** The objects that a migration changes, and those of other changed schemas. */
async function* partsOf({ store, resources, pending, fitted }: RehearsalOptions): AsyncGenerator<RehearsedPart> {
  const changed = new Set(changedResources(resources, fitted).map(({ name }) => name))
  for (const resource of storedResources(resources)) {
    if (pending.some(({ steps }) => steps.has(resource.name))) {
      for await (const range of rangesOf(store, resource.name, pending, AT_ONCE)) yield { ...range, resource }
    } else if (changed.has(resource.name)) {
      yield* pagesOf(store, resource)
    }
  }
}

/** All objects of a resource without steps. */
async function* pagesOf(store: RehearsalOptions['store'], resource: Resource): AsyncGenerator<RehearsedPart> {
  let objects: readonly StoredObject[] = []
  do {
    objects = await store.objects(resource.name, objects.at(-1)?.id, AT_ONCE)
    yield { resource, objects, needed: [] }
  } while (objects.length === AT_ONCE)
}

class RehearsalTally implements Rehearsal {
  read = 0
  misfits = 0
  readonly byMigration = new Map<number, { changed: number; deleted: number }>()
  readonly examples: MigrationExample[] = []
  readonly firstMisfits: UnfitObject[] = []

  note(resource: Resource, object: StoredObject, needed: readonly Migration[], refused?: RefusedChange): void {
    this.read += 1
    try {
      const change = changeObject(resource, object, needed, refused)
      if (change.kind === 'keep') return
      for (const number of change.by) this.#count(number, change.kind === 'delete' && number === change.by.at(-1))
      if (this.examples.length >= MOST_EXAMPLES) return
      const after = change.kind === 'delete' ? null : change.document
      this.examples.push({ resource: resource.name, id: object.id, before: object.document, after })
    } catch (error) {
      if (!(error instanceof UnfitObject)) throw error
      this.misfits += 1
      if (this.firstMisfits.length < MOST_SHOWN_MISFITS) this.firstMisfits.push(error)
    }
  }

  #count(number: number, deletes: boolean): void {
    const counts = this.byMigration.get(number) ?? { changed: 0, deleted: 0 }
    if (deletes) counts.deleted += 1
    else counts.changed += 1
    this.byMigration.set(number, counts)
  }
}
