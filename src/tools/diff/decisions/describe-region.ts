/** A region as conditions: the fewest and shortest terms for its sets of relations. */
import type { Region } from '../../../decide/relations/regions.ts'
import type { Scope, Term } from '../change.ts'
import type { RelationSpace } from './topic.ts'

interface Literal {
  readonly label: string
  readonly holds: boolean
  readonly region: Region
}

interface ChangedRegion {
  /** Where the grant changed. */
  readonly changed: Region
  /** Where both sides grant it. */
  readonly kept: Region
  /** The sets that can hold; the terms may say anything about the others. */
  readonly possible: Region
}

/**
 * Prefers `besides` to `without`: a caller who could list their own objects and now lists all of them gains `any`,
 * besides `owner`.
 */
export function describeScope(space: RelationSpace, { changed, kept, possible }: ChangedRegion): Scope {
  const impossible = space.all & ~possible
  const exact = cover(space, changed, changed | impossible)
  if (exact.every(isPositive)) return { when: exact, besides: [] }
  const when = cover(space, changed, changed | impossible | kept)
  const besides = cover(space, kept & regionOf(space, when), kept | impossible)
  if ([...when, ...besides].every(isPositive)) return { when, besides }
  return { when: exact, besides: [] }
}

/** Terms that together cover `wanted`, and nothing outside `allowed`. */
function cover(space: RelationSpace, wanted: Region, allowed: Region): readonly Term[] {
  const terms: Literal[][] = []
  let left = wanted
  while (left !== 0n) {
    const term = shortest(space, literalsOf(space, smallestSet(left)), allowed)
    terms.push(term)
    left &= ~whereAll(space, term)
  }
  return withoutSuperfluous(space, terms, wanted).map(termOf)
}

/** Drops needless literals, negations first. */
function shortest(space: RelationSpace, literals: readonly Literal[], allowed: Region): Literal[] {
  const order = [...literals.filter(({ holds }) => !holds), ...literals.filter(({ holds }) => holds)]
  return order.reduce<Literal[]>(
    (term, literal) => {
      const shorter = term.filter((other) => other !== literal)
      return (whereAll(space, shorter) & ~allowed) === 0n ? shorter : term
    },
    [...literals],
  )
}

function withoutSuperfluous(space: RelationSpace, terms: readonly Literal[][], wanted: Region): readonly Literal[][] {
  return terms.reduce<readonly Literal[][]>((kept, term) => {
    const others = kept.filter((other) => other !== term)
    const covered = others.reduce((region, other) => region | whereAll(space, other), 0n)
    return (wanted & ~covered) === 0n ? others : kept
  }, terms)
}

/** The number of a set with the fewest relations; the region isn't empty. */
function smallestSet(region: Region): number {
  const bits = region.toString(2)
  let smallest = -1
  for (let set = 0; set < bits.length; set++) {
    if (bits[bits.length - 1 - set] !== '1') continue
    if (smallest < 0 || size(set) < size(smallest)) smallest = set
  }
  return smallest
}

function size(set: number): number {
  return set.toString(2).replaceAll('0', '').length
}

function literalsOf({ labels, holds, all }: RelationSpace, set: number): readonly Literal[] {
  return labels.map((label, i) => {
    const region = holds[i] ?? 0n
    const isIn = ((set >> i) & 1) === 1
    return { label, holds: isIn, region: isIn ? region : all & ~region }
  })
}

function whereAll({ all }: RelationSpace, literals: readonly Literal[]): Region {
  return literals.reduce((region, literal) => region & literal.region, all)
}

function regionOf(space: RelationSpace, terms: readonly Term[]): Region {
  const where = (label: string) => space.holds[space.labels.indexOf(label)] ?? 0n
  return terms.reduce((sum, term) => {
    const held = term.with.reduce((region, label) => region & where(label), space.all)
    return sum | term.without.reduce((region, label) => region & ~where(label), held)
  }, 0n)
}

function termOf(literals: readonly Literal[]): Term {
  const labels = (wanted: boolean) => literals.filter(({ holds }) => holds === wanted).map(({ label }) => label)
  return { with: labels(true), without: labels(false) }
}

function isPositive({ without }: Term): boolean {
  return without.length === 0
}
