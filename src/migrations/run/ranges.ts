/** The ranges of objects that a run goes through: which migrations an object needs depends on how far each of them is. */
import type { StoredObject } from '../../resources/object.ts'
import type { Migrations } from '../../store/migrations.ts'
import type { Pending } from './pending.ts'

export interface ObjectRange {
  readonly resource: string
  readonly after: string | undefined
  /** Undefined for all further objects. */
  readonly upTo: string | undefined
  readonly objects: readonly StoredObject[]
  /** The migrations that have not reached these objects. */
  readonly needed: readonly Pending[]
}

interface Start {
  readonly migration: Pending
  /** The last object that it has reached; empty for none. */
  readonly from: string
}

/** All objects of the resource that some migration has not reached, at most `limit` at a time; the last range has no end. */
export async function* rangesOf(
  store: Pick<Migrations, 'objects'>,
  resource: string,
  pending: readonly Pending[],
  limit: number,
): AsyncGenerator<ObjectRange> {
  const starts = pending.flatMap((migration) => startOf(migration, resource))
  let after: string | undefined = starts.map(({ from }) => from).toSorted(byBytes)[0]
  while (after !== undefined) {
    const from: string = after
    const objects = await store.objects(resource, from || undefined, limit)
    const stop = starts.map((start) => start.from).filter((id) => byBytes(id, from) > 0)
    const upTo = endOf(objects, stop.toSorted(byBytes)[0], limit)
    yield {
      resource,
      after: from || undefined,
      upTo,
      objects: upTo === undefined ? objects : objects.filter(({ id }) => byBytes(id, upTo) <= 0),
      needed: starts.filter((start) => byBytes(start.from, from) <= 0).map(({ migration }) => migration),
    }
    after = upTo
  }
}

function startOf(migration: Pending, resource: string): readonly Start[] {
  const { place, steps } = migration
  if (!steps.has(resource)) return []
  if (!place || byBytes(place.resource, resource) < 0) return [{ migration, from: '' }]
  return place.resource === resource ? [{ migration, from: place.id }] : []
}

/** `stop`: the next object that another migration has reached. */
function endOf(objects: readonly StoredObject[], stop: string | undefined, limit: number): string | undefined {
  const last = objects.length < limit ? undefined : objects.at(-1)?.id
  if (last === undefined || stop === undefined) return last ?? stop
  return byBytes(last, stop) < 0 ? last : stop
}

/** The order in which engines compare ids. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
