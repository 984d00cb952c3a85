/**
 * What one group of callers sees of a change: each is decided before and after it, by the sight that they share. Only
 * those callers are decided one by one whose id an object names, or whose id other objects must be looked up for.
 */
import type { Lookup } from '../../decide/conditions/condition.ts'
import type { Sight } from '../../decide/grants/sight.ts'
import { represent, type StoredObject } from '../../resources/object.ts'
import type { FieldNames, Json, Representation } from '../../resources/resource.ts'
import type { Comparison } from '../../resources/routing/query.ts'
import type { ObjectChange } from '../../store/changes.ts'
import { fitsComparison } from '../../store/lists/sort-value.ts'

export interface SeenBy {
  readonly sight: Sight
  /** The filter of the stream, which is the same for all of them. */
  readonly filter: readonly Comparison[]
}

/** Whether some stored object answers the lookup, as things are now. */
export type AskStored = (lookup: Lookup) => boolean | Promise<boolean>

/** `object`: as the caller sees it; only its id, if it is gone. */
export interface SeenEvent {
  readonly kind: 'appeared' | 'changed' | 'gone'
  readonly object: Representation
  /** The time of the write: RFC 3339. */
  readonly at: string
}

/** A change, ready to be decided for many callers. */
export class SeenChange {
  readonly number: number
  readonly #id: string
  readonly #at: string
  readonly #before: Representation | undefined
  readonly #after: Representation | undefined
  readonly #fits: { readonly before: boolean; readonly after: boolean }
  readonly #group: SeenBy
  readonly #ask: AskStored
  readonly #events = new Map<FieldNames | undefined, Map<FieldNames | undefined, SeenEvent | undefined>>()

  constructor({ number, id, at, before, after }: ObjectChange, group: SeenBy, ask: AskStored) {
    this.number = number
    this.#id = id
    this.#at = at
    this.#before = representationOf(before)
    this.#after = representationOf(after)
    const fits = (object: Representation | undefined) =>
      object !== undefined && group.filter.every((comparison) => fitsComparison(comparison, object))
    this.#fits = { before: fits(this.#before), after: fits(this.#after) }
    this.#group = group
    this.#ask = ask
  }

  /** The ids of callers who may see it otherwise than a stranger does; `all`: each caller may. */
  get callers(): ReadonlySet<unknown> | 'all' {
    const { sight } = this.#group
    const objects = [this.#before, this.#after].filter((object) => object !== undefined)
    if (objects.some((object) => sight.looksUpCallers(object))) return 'all'
    return new Set(objects.flatMap((object) => sight.idsIn(object)))
  }

  /** What a caller sees of it; a stranger, without an id. */
  eventFor(caller: string | undefined): SeenEvent | undefined | Promise<SeenEvent | undefined> {
    const { before, after } = this.#fits
    const then = before ? this.#shown(this.#before, caller) : undefined
    const now = after ? this.#shown(this.#after, caller) : undefined
    if (!(then instanceof Promise) && !(now instanceof Promise)) return this.#event(then, now)
    return Promise.all([then, now]).then(([old, next]) => this.#event(old, next))
  }

  #shown(
    object: Representation | undefined,
    caller: string | undefined,
  ): FieldNames | undefined | Promise<FieldNames | undefined> {
    if (!object) return undefined
    const { sight } = this.#group
    if (sight.steps.length === 0) return sight.shown(object, caller, [])
    const held = sight.lookups(object, caller).map((lookup) => lookup !== undefined && this.#ask(lookup))
    return Promise.all(held).then((known) => sight.shown(object, caller, known))
  }

  /** Most callers see the same fields, so the event is made once. */
  #event(then: FieldNames | undefined, now: FieldNames | undefined): SeenEvent | undefined {
    const made = this.#events.getOrInsertComputed(then, () => new Map())
    return made.getOrInsertComputed(now, () => this.#make(then, now))
  }

  #make(then: FieldNames | undefined, now: FieldNames | undefined): SeenEvent | undefined {
    const object = this.#after && now && cut(this.#after, now)
    if (!object) return then && { kind: 'gone', object: { id: this.#id }, at: this.#at }
    if (!then || !this.#before) return { kind: 'appeared', object, at: this.#at }
    // Whoever can't read the changed fields doesn't learn that there was a change.
    const isSame = JSON.stringify(cut(this.#before, then)) === JSON.stringify(object)
    return isSame ? undefined : { kind: 'changed', object, at: this.#at }
  }
}

/** Several groups look at the same object. */
const representations = new WeakMap<StoredObject, Representation>()

function representationOf(object: StoredObject | undefined): Representation | undefined {
  return object && representations.getOrInsertComputed(object, represent)
}

function cut(whole: Representation, fields: FieldNames): Representation {
  return Object.fromEntries(Object.entries(whole).filter(([name]) => fields.has(name))) as Record<string, Json>
}
