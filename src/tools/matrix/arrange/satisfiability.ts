/** Whether a caller can relate to an object in exactly these ways, and what else then holds. Remembers its answers. */
import { LRUCache } from 'lru-cache'
import { possibleSets } from '../../../analysis/possible-sets.ts'
import type { Ownership } from '../../../decide/policy.ts'
import { relationsText } from '../../../decide/relations/ownership.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import { type ArrangedPair, arrangeRelated } from './arrange-related.ts'
import { CALLER, idSeries, OBJECT, type SamplesOf } from './samples.ts'

export interface Sampled {
  readonly resources: Resources
  readonly samples: SamplesOf
}

interface RelatedWay {
  readonly resource: Resource
  readonly relations: ReadonlySet<string>
  /** Whether the object must have the caller's id. */
  readonly own: boolean
}

type PairKind = ArrangedPair['kind']
type Kinds = Map<string, PairKind>

/** Of the relations of one resource. */
const MOST_MEANINGS = 100

const found = new WeakMap<SamplesOf, LRUCache<string, Kinds>>()

export function satisfiability(ownership: Ownership | undefined, known: Sampled, way: RelatedWay): PairKind {
  const meaning = relationsText(way.resource, ownership)
  const byMeaning = found.getOrInsertComputed(known.samples, () => new LRUCache<string, Kinds>({ max: MOST_MEANINGS }))
  const kinds = byMeaning.get(meaning) ?? new Map<string, PairKind>()
  byMeaning.set(meaning, kinds)
  const key = JSON.stringify([way.resource.name, way.own, ...way.relations])
  const kind = kinds.get(key) ?? kindOf(ownership, known, way)
  kinds.set(key, kind)
  return kind
}

function kindOf(
  ownership: Ownership | undefined,
  { resources, samples: samplesOf }: Sampled,
  way: RelatedWay,
): PairKind {
  const samples = samplesOf.get(way.resource.name)
  // Built-in resources have no objects.
  if (!samples) return 'impossible'
  const common = {
    ...way,
    resources,
    samplesOf,
    samples,
    callerId: CALLER,
    id: OBJECT,
    now: Date.now(),
    newId: idSeries(OBJECT),
  }
  return arrangeRelated({ ...common, ownership }).kind
}

interface PairedObject {
  readonly resource: Resource
  readonly ownership: Ownership | undefined
  /** Whether the object must have the caller's id. */
  readonly own: boolean
}

/** How many sets of further relations are tried to find an object with the named relations. */
const MOST_COMPLETIONS = 64

/**
 * Completes the set with relations outside of `named`. They make no difference, so as few as possible hold. Undefined if
 * no such object can exist. If one may exist but was not found, a set that may be possible.
 */
export function completedSet(
  { resource, ownership, own }: PairedObject,
  known: Sampled,
  { set, named }: { readonly set: ReadonlySet<string>; readonly named: ReadonlySet<string> },
): ReadonlySet<string> | undefined {
  const others = [...(ownership?.relations.values() ?? [])].filter(({ name }) => !named.has(name))
  let open: ReadonlySet<string> | undefined
  for (const more of possibleSets(others, resource).slice(0, MOST_COMPLETIONS)) {
    const relations = set.union(more)
    const kind = satisfiability(ownership, known, { resource, relations, own })
    if (kind === 'related') return relations
    if (kind === 'unarranged') open ??= relations
  }
  return open
}
