/** The words of a matrix for the rows of a list: the fewest ways to relate that fit the listed objects and no others. */
import { fitsWay, isWritable, type ListedRows, OWN, type RowTerm, relatedBy } from '../read/listed-rows.ts'

interface Listable {
  /** All relations that hold between the caller and the object. */
  readonly relations: ReadonlySet<string>
  readonly listed: boolean
}

/** The most relations of one way, unless there is no other way than to name all of them. */
const MOST_TERMS = 3

/** Every choice that fits, the best first. `named`: the relations that rules about the list name. */
export function wordsFor(objects: readonly Listable[], named: readonly string[]): readonly ListedRows[] {
  const own: readonly ListedRows[] = objects.every(({ relations, listed }) => relations.has('owner') === listed)
    ? [OWN]
    : []
  if (objects.every(({ listed }) => listed)) return [...own, { kind: 'all' }]
  if (objects.every(({ listed }) => !listed)) return [{ kind: 'none' }]
  if (own.length > 0) return own
  const ways = waysThatFit(objects, named.filter(isWritable))
  return ways ? [relatedBy(ways)] : []
}

/** Undefined if these relations don't tell the listed objects from the others. */
function waysThatFit(objects: readonly Listable[], names: readonly string[]): readonly RowTerm[] | undefined {
  const fitting = shortestWays(objects, names)
  const chosen: RowTerm[] = []
  let open = objects.filter(({ listed }) => listed)
  while (open.length > 0) {
    const [first] = open
    const exactly = first && exactWay(first, names)
    const gain = (way: RowTerm) => open.filter(({ relations }) => fitsWay(way, relations)).length
    const best = fitting.reduce<RowTerm | undefined>(
      (one, way) => (gain(way) > (one ? gain(one) : 0) ? way : one),
      undefined,
    )
    const way = best ?? (exactly && fitsOnlyListed(objects, exactly) ? exactly : undefined)
    if (!way) return undefined
    chosen.push(way)
    open = open.filter(({ relations }) => !fitsWay(way, relations))
  }
  return chosen
}

/** The ways that fit listed objects only, without those that a shorter one contains. Relations that hold come first. */
function shortestWays(objects: readonly Listable[], names: readonly string[]): readonly RowTerm[] {
  const fitting: RowTerm[] = []
  let longer: readonly RowTerm[] = [{ held: [], lacking: [] }]
  for (let length = 1; length <= MOST_TERMS; length++) {
    const grown = longer.flatMap((way) => extended(way, names)).toSorted((a, b) => a.lacking.length - b.lacking.length)
    const here = grown.filter((way) => fitsOnlyListed(objects, way))
    fitting.push(...here)
    // Nothing is gained from a way that no listed object fits.
    longer = grown.filter(
      (way) => !here.includes(way) && objects.some((one) => one.listed && fitsWay(way, one.relations)),
    )
  }
  return fitting
}

/** By one relation that comes after all of its own, so that each way is made once. */
function extended({ held, lacking }: RowTerm, names: readonly string[]): readonly RowTerm[] {
  const last = Math.max(-1, ...[...held, ...lacking].map((name) => names.indexOf(name)))
  return names.slice(last + 1).flatMap((name) => [
    { held: [...held, name].sort(), lacking },
    { held, lacking: [...lacking, name].sort() },
  ])
}

function fitsOnlyListed(objects: readonly Listable[], way: RowTerm): boolean {
  const fitting = objects.filter(({ relations }) => fitsWay(way, relations))
  return fitting.length > 0 && fitting.every(({ listed }) => listed)
}

function exactWay({ relations }: Listable, names: readonly string[]): RowTerm {
  const [held, lacking] = [names.filter((name) => relations.has(name)), names.filter((name) => !relations.has(name))]
  return { held: held.sort(), lacking: lacking.sort() }
}
