/**
 * Regions: sets of situations in which each of some variables holds or doesn't. They are kept as reduced, ordered binary
 * decision diagrams (Bryant 1986): equal regions are the same number, and a region of a million situations takes as many
 * nodes as it takes questions to describe it.
 */

/** Only the `Regions` that made it know its situations. */
export type Region = number & { readonly brand: unique symbol }

export const NOWHERE = 0 as Region
export const EVERYWHERE = 1 as Region

/** A diagram that grows beyond this describes nothing that a person would read. */
const MOST_NODES = 2 ** 19

/** And more joined pairs than this take longer than a person would wait. */
const MOST_PAIRS = 2 ** 22

/** The situations of `about`, a resource, are too many to be told apart. */
export class TooManyRegions extends Error {
  readonly about: string

  constructor(about: string) {
    super(`the rules about \`${about}\` distinguish too many sets of relations and conditions`)
    this.name = 'TooManyRegions'
    this.about = about
  }
}

export class Regions {
  readonly #about: string
  // The node of a region: the variable that it asks for, and the regions where that doesn't hold and where it does.
  readonly #variables: number[] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  readonly #without: Region[] = [NOWHERE, EVERYWHERE]
  readonly #with: Region[] = [NOWHERE, EVERYWHERE]
  readonly #nodes = new Map<number, Map<number, Region>>()
  readonly #both = new Map<number, Region>()
  readonly #not = new Map<Region, Region>()

  /** `about`: the resource whose situations these are. */
  constructor(about = 'any') {
    this.#about = about
  }

  /** Where one variable holds. */
  where(variable: number): Region {
    return this.#node(variable, NOWHERE, EVERYWHERE)
  }

  not(region: Region): Region {
    if (region === NOWHERE) return EVERYWHERE
    if (region === EVERYWHERE) return NOWHERE
    const known = this.#not.get(region)
    if (known !== undefined) return known
    const made = this.#node(this.#variableOf(region), this.not(this.#withoutOf(region)), this.not(this.#withOf(region)))
    this.#not.set(region, made)
    return made
  }

  both(one: Region, other: Region): Region {
    if (one === other || other === EVERYWHERE) return one
    if (one === EVERYWHERE) return other
    if (one === NOWHERE || other === NOWHERE) return NOWHERE
    const key = keyOf(Math.min(one, other), Math.max(one, other))
    const known = this.#both.get(key)
    if (known !== undefined) return known
    const variable = Math.min(this.#variableOf(one), this.#variableOf(other))
    const [a, b] = [this.#cut(one, variable), this.#cut(other, variable)]
    const made = this.#node(variable, this.both(a.without, b.without), this.both(a.with, b.with))
    if (this.#both.size >= MOST_PAIRS) throw new TooManyRegions(this.#about)
    this.#both.set(key, made)
    return made
  }

  either(one: Region, other: Region): Region {
    return this.not(this.both(this.not(one), this.not(other)))
  }

  /** Where the first is and the second isn't. */
  minus(one: Region, other: Region): Region {
    return this.both(one, this.not(other))
  }

  /** Where one is and the other isn't. */
  differ(one: Region, other: Region): Region {
    return this.either(this.minus(one, other), this.minus(other, one))
  }

  /** Where both are, or neither is. */
  same(one: Region, other: Region): Region {
    return this.not(this.differ(one, other))
  }

  all(regions: readonly Region[]): Region {
    return regions.reduce((region, one) => this.both(region, one), EVERYWHERE)
  }

  any(regions: readonly Region[]): Region {
    return regions.reduce((region, one) => this.either(region, one), NOWHERE)
  }

  isWithin(one: Region, other: Region): boolean {
    return this.minus(one, other) === NOWHERE
  }

  /** Where some value of these variables is in the region. */
  whatever(region: Region, isIgnored: (variable: number) => boolean): Region {
    const known = new Map<Region, Region>()
    const widen = (one: Region): Region => {
      if (one === NOWHERE || one === EVERYWHERE) return one
      const found = known.get(one)
      if (found !== undefined) return found
      const variable = this.#variableOf(one)
      const [low, high] = [widen(this.#withoutOf(one)), widen(this.#withOf(one))]
      const made = isIgnored(variable) ? this.either(low, high) : this.#node(variable, low, high)
      known.set(one, made)
      return made
    }
    return widen(region)
  }

  /** Says regions in other `Regions`, where each variable stands for a region of those. */
  translator(into: Regions, meaning: (variable: number) => Region): (region: Region) => Region {
    const known = new Map<Region, Region>()
    const translate = (one: Region): Region => {
      if (one === NOWHERE || one === EVERYWHERE) return one
      return known.getOrInsertComputed(one, () => {
        const held = meaning(this.#variableOf(one))
        const [low, high] = [translate(this.#withoutOf(one)), translate(this.#withOf(one))]
        return into.either(into.minus(low, held), into.both(high, held))
      })
    }
    return translate
  }

  /** In how many ways these variables hold somewhere in the region. */
  count(region: Region, variables: Iterable<number>): number {
    const order = [...new Set(variables)].sort((a, b) => a - b)
    const counted = new Set(order)
    const known = new Map<string, number>()
    const ways = (one: Region, i: number): number => {
      const variable = order[i]
      if (one === NOWHERE || variable === undefined) return one === NOWHERE ? 0 : 1
      if (one === EVERYWHERE) return 2 ** (order.length - i)
      return known.getOrInsertComputed(`${one} ${i}`, () => {
        const cut = this.#cut(one, variable)
        return ways(cut.without, i + 1) + ways(cut.with, i + 1)
      })
    }
    return ways(
      this.whatever(region, (variable) => !counted.has(variable)),
      0,
    )
  }

  /** Exactly this situation, among these variables. */
  exactly(holding: ReadonlySet<number>, variables: Iterable<number>): Region {
    return this.all([...variables].map((one) => (holding.has(one) ? this.where(one) : this.not(this.where(one)))))
  }

  /** A situation of the region: the fewest variables that hold, the lower ones if possible. The region isn't empty. */
  smallest(region: Region): ReadonlySet<number> {
    const sizes = new Map<Region, number>([
      [NOWHERE, Number.POSITIVE_INFINITY],
      [EVERYWHERE, 0],
    ])
    const size = (one: Region): number => {
      const known = sizes.get(one)
      if (known !== undefined) return known
      const made = Math.min(size(this.#withoutOf(one)), size(this.#withOf(one)) + 1)
      sizes.set(one, made)
      return made
    }
    const holding = new Set<number>()
    let at = region
    while (at !== EVERYWHERE) {
      if (at === NOWHERE) throw new Error('an empty region has no situation')
      const [low, high] = [this.#withoutOf(at), this.#withOf(at)]
      const isHeld = size(high) + 1 <= size(low)
      if (isHeld) holding.add(this.#variableOf(at))
      at = isHeld ? high : low
    }
    return holding
  }

  /** Whether the situation in which exactly these variables hold is in the region. */
  has(region: Region, holding: ReadonlySet<number>): boolean {
    let at = region
    while (at !== NOWHERE && at !== EVERYWHERE) {
      at = holding.has(this.#variableOf(at)) ? this.#withOf(at) : this.#withoutOf(at)
    }
    return at === EVERYWHERE
  }

  #node(variable: number, without: Region, with_: Region): Region {
    if (without === with_) return without
    const known = this.#nodes.get(variable) ?? new Map<number, Region>()
    this.#nodes.set(variable, known)
    const key = keyOf(without, with_)
    const found = known.get(key)
    if (found !== undefined) return found
    const made = this.#variables.length as Region
    if (made >= MOST_NODES) throw new TooManyRegions(this.#about)
    this.#variables.push(variable)
    this.#without.push(without)
    this.#with.push(with_)
    known.set(key, made)
    return made
  }

  #cut(region: Region, variable: number): { readonly without: Region; readonly with: Region } {
    if (this.#variableOf(region) !== variable) return { without: region, with: region }
    return { without: this.#withoutOf(region), with: this.#withOf(region) }
  }

  #variableOf(region: Region): number {
    return this.#variables[region] ?? Number.POSITIVE_INFINITY
  }

  #withoutOf(region: Region): Region {
    return this.#without[region] ?? NOWHERE
  }

  #withOf(region: Region): Region {
    return this.#with[region] ?? NOWHERE
  }
}

function keyOf(one: number, other: number): number {
  return one * MOST_NODES + other
}

// ---- Extents --------------------------------------------------------------------------------------------------------

/** What a rule is about: the fields that it names, and the region where it matches. */
export interface Extent {
  /** A bit for each field of the resource. */
  readonly fields: bigint
  readonly region: Region
}

/** Some extents without the part that another one covers. */
export function without(regions: Regions, extents: readonly Extent[], gone: Extent): readonly Extent[] {
  return extents.flatMap((extent) => {
    const shared = extent.fields & gone.fields
    const rest = shared === 0n ? extent.region : regions.minus(extent.region, gone.region)
    if (rest === extent.region) return [extent]
    return [
      { fields: extent.fields & ~shared, region: extent.region },
      { fields: shared, region: rest },
    ].filter(({ fields, region }) => fields !== 0n && region !== NOWHERE)
  })
}

export function withoutAll(regions: Regions, extents: readonly Extent[], gone: Iterable<Extent>): readonly Extent[] {
  let left = extents
  for (const one of gone) {
    if (left.length === 0) return left
    left = without(regions, left, one)
  }
  return left
}

/** What two extents share. */
export function shared(regions: Regions, one: Extent, other: Extent): readonly Extent[] {
  const fields = one.fields & other.fields
  const region = fields === 0n ? NOWHERE : regions.both(one.region, other.region)
  return region === NOWHERE ? [] : [{ fields, region }]
}

/** Where some of these fields are named. */
export function whereNamed(regions: Regions, extents: readonly Extent[], fields: bigint): Region {
  return regions.any(extents.filter((one) => (one.fields & fields) !== 0n).map(({ region }) => region))
}
