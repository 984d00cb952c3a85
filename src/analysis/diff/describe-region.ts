/** A region as relation columns: the fewest and shortest terms for its situations. */
import type { ComparedSpace } from '../compared-space.ts'
import { NOWHERE, type Region, type Regions } from '../regions.ts'
import { variablesOf } from '../space.ts'
import type { ChangeScope, NameSets, ScopeTerm } from './change.ts'

interface ChangedRegion {
  /** Where the grant changed. */
  readonly changed: Region
  /** Where both sides grant it. */
  readonly kept: Region
  /** The situations that can be; the terms may say anything about the others. */
  readonly possible: Region
  /** Where the decision is asked; the others are within. */
  readonly decision: Region
}

/** What a term says about one atom: left and right of `>`, whether it holds. Undefined: nothing. */
interface Literal {
  readonly left?: boolean
  readonly right?: boolean
}

/** A literal for each atom. */
interface Column {
  readonly literals: readonly Literal[]
  readonly region: Region
}

/**
 * Prefers `besides` to `without`: a caller who could list their own objects and now lists all of them gains `any`,
 * besides `owner`.
 */
export function describeScope(space: ComparedSpace, { changed, kept, possible, decision }: ChangedRegion): ChangeScope {
  const { regions } = space
  const cover = (wanted: Region, allowed: Region) => columnsFor({ space, decision, wanted, allowed })
  const impossible = regions.minus(decision, possible)
  const exact = cover(changed, regions.either(changed, impossible))
  const asScope = (when: readonly Column[], besides: readonly Column[]): ChangeScope => ({
    when: when.map((column) => termOf(space, column)),
    besides: besides.map((column) => termOf(space, column)),
  })
  const plain = asScope(exact, [])
  if (plain.when.every(isPlain)) return plain
  const when = cover(changed, regions.any([changed, impossible, kept]))
  const within = regions.any(when.map(({ region }) => region))
  const besides = cover(regions.both(kept, within), regions.either(kept, impossible))
  const scoped = asScope(when, besides)
  const terms = [...scoped.when, ...scoped.besides]
  if (terms.every(isPlain)) return scoped
  const isBetter = !plain.when.every(isPositive) || lengthOf(terms) < lengthOf(plain.when)
  return terms.every(isPositive) && isBetter ? scoped : plain
}

/** How many names the terms have, with one for each term. */
function lengthOf(terms: readonly ScopeTerm[]): number {
  const count = (names: NameSets | undefined) => (names ? names.with.length + names.without.length : 0)
  return terms.reduce((sum, term) => sum + 1 + count(term) + count(term.becomes), 0)
}

interface RegionToDescribe {
  readonly space: ComparedSpace
  readonly decision: Region
  readonly wanted: Region
  readonly allowed: Region
}

/** Columns that together cover `wanted`, and nothing outside `allowed`. */
function columnsFor({ space, decision, wanted, allowed }: RegionToDescribe): readonly Column[] {
  const { regions } = space
  const columns: Column[] = []
  let left = wanted
  while (left !== NOWHERE) {
    const column = shortest({ space, decision, wanted, allowed }, regions.smallest(left))
    const rest = regions.minus(left, column.region)
    if (rest === left) throw new Error('a column must hold the situation that it was made of')
    columns.push(column)
    left = rest
  }
  return withoutSuperfluous(regions, columns, wanted)
}

/** The column of one situation without what it needn't say, negations dropped first. */
function shortest({ space, decision, allowed }: RegionToDescribe, situation: ReadonlySet<number>): Column {
  const { regions, rules } = space
  const onResult = decision === rules.second
  const choices = space.atoms.map((_, i) => choicesFor(space, i, situation, onResult))
  const isNegative = (i: number) => !situation.has(variablesOf(i).before) && !situation.has(variablesOf(i).after)
  const places = space.atoms.map((_, i) => i)
  const order = [...places.filter(isNegative), ...places.filter((i) => !isNegative(i))]
  let literals: readonly Literal[] = choices.map((some) => some.at(-1) ?? {})
  const regionOf = (some: readonly Literal[]) =>
    regions.all([decision, ...some.map((literal, i) => whereLiteral(space, i, { ...literal, onResult }))])
  for (const i of order) {
    const fitting = choices[i]?.find((choice) => regions.isWithin(regionOf(literals.with(i, choice)), allowed))
    if (fitting) literals = literals.with(i, fitting)
  }
  return { literals, region: regionOf(literals) }
}

/** What a column may say about an atom in this situation: the shortest first, and all of it last. */
function choicesFor(
  { atoms, moments }: ComparedSpace,
  i: number,
  situation: ReadonlySet<number>,
  onResult: boolean,
): readonly Literal[] {
  const { before, after } = variablesOf(i)
  const left = situation.has(before)
  if (!onResult || !atoms[i]?.leaf) return [{}, { left }]
  const right = situation.has(after)
  const isState = moments[i]?.mixed === moments[i]?.stored
  if (isState) return [{}, { left }, { right }, { left, right }]
  // What isn't a state must hold before and after, unless the right side names it.
  return left === right ? [{}, { left }, { right }, { left }] : [{}, { right }, { left, right }]
}

function whereLiteral(
  { regions, moments }: ComparedSpace,
  i: number,
  { left, right, onResult }: Literal & { readonly onResult: boolean },
): Region {
  const at = (moment: 'stored' | 'mixed' | 'proposed', holds: boolean | undefined): readonly Region[] => {
    const region = moments[i]?.[moment]
    if (region === undefined || holds === undefined) return []
    return [holds ? region : regions.not(region)]
  }
  if (!onResult) return regions.all(at('stored', left))
  return regions.all([...at('stored', left), ...(right === undefined ? at('mixed', left) : at('proposed', right))])
}

function withoutSuperfluous(regions: Regions, columns: readonly Column[], wanted: Region): readonly Column[] {
  return columns.reduce<readonly Column[]>((kept, column) => {
    const others = kept.filter((other) => other !== column)
    return regions.isWithin(wanted, regions.any(others.map(({ region }) => region))) ? others : kept
  }, columns)
}

function termOf({ atoms }: ComparedSpace, { literals }: Column): ScopeTerm {
  const names = (side: keyof Literal): NameSets => {
    const labels = (wanted: boolean) => atoms.flatMap(({ label }, i) => (literals[i]?.[side] === wanted ? [label] : []))
    return { with: labels(true), without: labels(false) }
  }
  const becomes = names('right')
  const isSaid = becomes.with.length + becomes.without.length > 0
  return { ...names('left'), ...(isSaid ? { becomes } : {}) }
}

function isPlain({ without, becomes }: ScopeTerm): boolean {
  return without.length === 0 && becomes === undefined
}

/** A transition reads well with a negation too. */
function isPositive({ without, becomes }: ScopeTerm): boolean {
  return without.length === 0 || becomes !== undefined
}
