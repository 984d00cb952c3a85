/** Where the rules allow a write, in the situations of the write and of the objects around it. */

import type { ActionRules } from '../../../analysis/action-rules.ts'
import { EVERYWHERE, type Extent, NOWHERE, type Region } from '../../../analysis/regions.ts'
import type { ActionRulesIndex } from '../../../analysis/rule-index.ts'
import type { Policy } from '../../../decide/policy.ts'
import { filledFields } from '../../../decide/relations/ownership.ts'
import type { Operation } from '../../../resources/resource.ts'
import type { ObjectInSpace, WriteMoment, WriteSpace } from './write-space.ts'
import { changedIn, changedWithin, createdWithin } from './written-fields.ts'

interface WriteParts {
  readonly space: WriteSpace
  readonly operation: Operation
  readonly written: ActionRules
  readonly place: ObjectInSpace
}

type Translate = (region: Region) => Region

export class AllowedWrite {
  readonly #write: WriteParts
  readonly #policy: Policy
  readonly #index: ActionRulesIndex
  readonly #names: readonly string[]
  readonly #translators = new Map<string, Translate>()
  readonly #known = new Map<string, Region>()
  readonly #possible: Region

  constructor(write: WriteParts, { policy, index }: { readonly policy: Policy; readonly index: ActionRulesIndex }) {
    this.#write = write
    this.#policy = policy
    this.#index = index
    this.#names = [...write.place.resource.fields.keys()]
    this.#possible = write.space.possible
  }

  /** Says what is decided about an object that isn't written. */
  translated(place: ObjectInSpace, moment: Exclude<WriteMoment, 'proposed'>): Translate {
    const { space } = this.#write
    return this.#translators.getOrInsertComputed(`${place === this.#write.place} ${moment}`, () =>
      place.space.translatorTo(
        space.regions,
        (name) => (typeof name === 'string' ? space.condition(name, 'afterwards') : space.holds(place, name, moment)),
        NOWHERE,
      ),
    )
  }

  /** Where a caller with these subjects makes the write, by these allows of its rules. */
  by(allows: readonly Extent[], subjects: ReadonlySet<string>): Region {
    const { written } = this.#write
    const granted = written.granted(allows, subjects)
    const key = JSON.stringify([
      granted.map(({ fields, region }) => [String(fields), region]),
      this.#write.operation === 'replace' ? this.#keyOf(subjects) : '',
    ])
    return this.#known.getOrInsertComputed(key, () => this.#region(granted, subjects))
  }

  /** Where the write changes, or gives, a field that this rule opens. */
  takesPart(rule: Extent, subjects: ReadonlySet<string>): Region {
    const { space, written, operation } = this.#write
    const granted = written.granted([rule], subjects)
    if (operation === 'replace' || operation === 'update') return changedIn(space, this.#where(granted, this.#decided))
    return space.regions.any(granted.map(({ region }) => this.#decided(region)))
  }

  /** Where a caller with these subjects may read some of the stored object when it asks for the write. */
  readable(read: ActionRules, subjects: ReadonlySet<string>): Region {
    const granted = read.granted(read.extents('allow', subjects), subjects)
    return this.#write.space.regions.any(granted.map(({ region }) => this.#first(region)))
  }

  #region(granted: readonly Extent[], subjects: ReadonlySet<string>): Region {
    const { space, operation, place } = this.#write
    const { regions } = space
    const any = regions.any(granted.map(({ region }) => this.#decided(region)))
    if (any === NOWHERE) return NOWHERE
    const where = this.#where(granted, this.#decided)
    const filled = filledFields(place.resource, this.#policy.ownership.get(place.resource.name))
    const fields =
      operation === 'create'
        ? createdWithin(space, where, new Map(filled.map(({ field, attribute }) => [field.name, attribute])))
        : changedWithin(space, where)
    const kept =
      operation === 'replace' ? this.#kept(subjects, new Set(filled.map(({ field }) => field.name))) : EVERYWHERE
    return regions.all([any, fields, kept, this.#possible])
  }

  /** Clients don't write the server's fields. */
  #where(granted: readonly Extent[], decided: Translate): (field: string) => Region {
    const { space, place } = this.#write
    return (name) => {
      if (place.resource.fields.get(name)?.readOnly) return NOWHERE
      const bit = BigInt(this.#names.indexOf(name))
      return space.regions.any(
        granted.filter(({ fields }) => (fields >> bit) & 1n).map(({ region }) => decided(region)),
      )
    }
  }

  /** A PUT keeps what it doesn't open. What it opens and may not write in this situation has to be readable. */
  #kept(subjects: ReadonlySet<string>, filled: ReadonlySet<string>): Region {
    const { space, written, place } = this.#write
    const { regions } = space
    const all = written.granted(written.extents('allow', subjects), subjects)
    const read = this.#index.rulesOf(place.resource.name, 'read')
    const shown = read ? read.granted(read.extents('allow', subjects), subjects) : []
    const [first, second] = [this.#where(all, this.#first), this.#where(all, this.#decided)]
    const readable = this.#where(shown, this.#first)
    return regions.all(
      this.#names
        .filter((name) => !filled.has(name))
        .map((name) => regions.any([regions.not(first(name)), second(name), readable(name)])),
    )
  }

  /** As the write is decided: a change on its result, which is never more than on the stored object. */
  get #decided(): Translate {
    const { operation } = this.#write
    if (operation === 'create') return this.#translator('proposed', 'proposed', NOWHERE)
    return operation === 'delete' ? this.#first : this.#translator('old', 'proposed', EVERYWHERE)
  }

  get #first(): Translate {
    return this.#translator('old', 'old', NOWHERE)
  }

  #translator(stored: WriteMoment, proposed: WriteMoment, second: Region): Translate {
    const { space, place } = this.#write
    return this.#translators.getOrInsertComputed(`${stored} ${proposed} ${second}`, () =>
      place.space.translatorTo(
        space.regions,
        (name, moment) =>
          typeof name === 'string'
            ? space.condition(name, 'write')
            : space.holds(place, name, moment === 'stored' ? stored : proposed),
        second,
      ),
    )
  }

  #keyOf(subjects: ReadonlySet<string>): string {
    return [...subjects].toSorted().join()
  }
}
