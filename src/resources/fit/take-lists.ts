/** The lists that schemas allow, the shortest first. */
import type { Json } from '../resource.ts'
import { itemsOf, leastOf, mostOf, type SchemaPart } from './parts.ts'
import { MOST_INSIDE, NOTHING, type Taking, UNKNOWN, type Values } from './taken.ts'

export function takeLists(parts: readonly SchemaPart[], { count, take }: Taking): Values {
  const [least, most] = [leastOf(parts, 'minItems', 0), mostOf(parts, 'maxItems')]
  if (least > most) return NOTHING
  if (least > MOST_INSIDE) return UNKNOWN
  const distinct = parts.some(({ schema }) => schema.uniqueItems === true)
  if (least === 0 && (most === 0 || count <= 1)) return { values: [[]], complete: most === 0 }
  const items = take(itemsOf(parts), distinct ? Math.max(count, least) + 1 : count)
  const values: Json[] = []
  for (const list of listsUpTo(items.values, { least, most, distinct })) {
    if (values.length >= count || list.length > MOST_INSIDE) return { values, complete: false }
    values.push(list)
  }
  return { values, complete: items.complete }
}

interface Lengths {
  readonly least: number
  readonly most: number
  readonly distinct: boolean
}

function* listsUpTo(items: readonly Json[], { least, most, distinct }: Lengths): Generator<readonly Json[]> {
  const longest = distinct || items.length === 0 ? items.length : most
  for (let length = least; length <= Math.min(most, longest); length++) yield* listsOf(items, length, distinct)
}

/** Every list of this length, in order; the last items change first. */
function* listsOf(items: readonly Json[], length: number, distinct: boolean): Generator<readonly Json[]> {
  const places = Array.from({ length }, (_, i) => (distinct ? i : 0))
  for (;;) {
    yield places.map((place) => items[place] ?? null)
    if (!advance(places, items.length, distinct)) return
  }
}

/** The next places in lexical order; with `distinct`, without repeated places. False at the end. */
function advance(places: number[], size: number, distinct: boolean): boolean {
  for (let i = places.length - 1; i >= 0; i--) {
    const before = new Set(distinct ? places.slice(0, i) : [])
    const next = nextFree((places[i] ?? 0) + 1, size, before)
    if (next === undefined) continue
    places[i] = next
    for (let j = i + 1; j < places.length; j++) {
      const used = new Set(distinct ? places.slice(0, j) : [])
      places[j] = nextFree(0, size, used) ?? 0
    }
    return true
  }
  return false
}

function nextFree(from: number, size: number, used: ReadonlySet<number>): number | undefined {
  for (let place = from; place < size; place++) if (!used.has(place)) return place
  return undefined
}
