/**
 * Objects as they were at a time, by the histories of their resources (docs/history.md). A resource whose history doesn't
 * tell is taken as it is today, and named.
 */
import { type FindObjects, findIn } from '../../analysis/callers-alike.ts'
import { meets } from '../../decide/conditions/condition.ts'
import { represent, type StoredObject } from '../../resources/object.ts'
import type { Resources } from '../../resources/resource.ts'
import type { ObjectChanges } from '../../store/changes.ts'
import type { OpenedStore } from '../../store/contract.ts'

export interface TakenAsToday {
  readonly resource: string
  readonly why: string
}

/** The objects that have changed since, by id, as they were then; undefined for one that wasn't there. */
export type OtherThen = ReadonlyMap<string, StoredObject | undefined>

const AS_TODAY: OtherThen = new Map()
const PAGE = 500
/** They are kept in memory. */
const MOST_CHANGED = 100_000

interface PastParts {
  readonly store: Pick<OpenedStore['store'], 'list'>
  readonly changes: Pick<ObjectChanges, 'after' | 'firstOfEach'>
  readonly resources: Resources
  readonly time: number
  /** Milliseconds since the epoch, as `time`. */
  readonly today: number
}

export class PastObjects {
  readonly #parts: PastParts
  readonly #other = new Map<string, Promise<OtherThen>>()
  readonly #asToday = new Map<string, string>()

  constructor(parts: PastParts) {
    this.#parts = parts
  }

  /** Of those that were asked for. */
  get asToday(): readonly TakenAsToday[] {
    return [...this.#asToday].map(([resource, why]) => ({ resource, why }))
  }

  takeAsToday(resource: string, why: string): OtherThen {
    this.#asToday.set(resource, why)
    return AS_TODAY
  }

  /** Throws what the store throws. */
  otherThen(resource: string): Promise<OtherThen> {
    return this.#other.getOrInsertComputed(resource, () => this.#read(resource))
  }

  /** What `findIn` would have found then. */
  find(most: number): FindObjects {
    const findToday = findIn(this.#parts.store, most)
    return async (resource, field, values) => {
      const other = await this.otherThen(resource)
      const found = await findToday(resource, field, values)
      if (!found) return undefined
      const then = [...other.values()].flatMap((object) => (object ? [represent(object)] : []))
      const fitting = then.filter((object) => meets({ kind: 'holds', field, values }, object))
      const all = [...found.filter(({ id }) => !other.has(String(id))), ...fitting]
      return all.length > most ? undefined : all
    }
  }

  async #read(resource: string): Promise<OtherThen> {
    const { changes, time } = this.#parts
    const missing = await this.#missing(resource)
    if (missing !== undefined) return this.takeAsToday(resource, missing)
    const other = new Map<string, StoredObject | undefined>()
    for (let after = 0, more = true; more; ) {
      const some = await changes.firstOfEach(resource, new Date(time).toISOString(), { after, limit: PAGE })
      for (const { id, before } of some) other.set(id, before)
      if (other.size > MOST_CHANGED)
        return this.takeAsToday(resource, `more than ${MOST_CHANGED} of its objects have changed since`)
      after = some.at(-1)?.number ?? after
      more = some.length > 0
    }
    return other
  }

  /** Why its history doesn't tell what its objects were; undefined if it does. */
  async #missing(name: string): Promise<string | undefined> {
    const { resources, changes, time, today } = this.#parts
    const history = resources.byName.get(name)?.routes.find((route) => route.history)?.history
    if (!history) return 'it keeps no history'
    const late = 'its history is not known to reach back so far'
    const since = (await changes.after(0, 1)).since.get(name)
    if (time < today - history.keepMs || since === undefined) return late
    // Numbers grow with the time, in all resources: what came before the time came after the history began.
    const [first] = (await changes.after(since, 1)).changes
    return first && Date.parse(first.at) <= time ? undefined : late
  }
}
