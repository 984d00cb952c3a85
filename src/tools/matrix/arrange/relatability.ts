/** Whether a caller with credentials can relate to an object in exactly these ways; remembered for the same files. */
import { LRUCache } from 'lru-cache'
import type { Ownership } from '../../../decide/policy.ts'
import { relationsText } from '../../../decide/relations/ownership.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import { type ArrangedPair, arrangeRelated } from './arrange-related.ts'
import { idSeries } from './related-objects.ts'
import { CALLER, OBJECT, type SamplesOf } from './values/samples.ts'

export interface Known {
  readonly resources: Resources
  readonly samples: SamplesOf
}

interface Way {
  readonly resource: Resource
  readonly relations: ReadonlySet<string>
  /** Whether the object must have the caller's id. */
  readonly own: boolean
}

type Kind = ArrangedPair['kind']
type Kinds = Map<string, Kind>

/** Of the relations of one resource. */
const MOST_MEANINGS = 100

const found = new WeakMap<SamplesOf, LRUCache<string, Kinds>>()

export function relatability(ownership: Ownership | undefined, known: Known, way: Way): Kind {
  const meaning = relationsText(way.resource, ownership)
  const byMeaning = found.getOrInsertComputed(known.samples, () => new LRUCache<string, Kinds>({ max: MOST_MEANINGS }))
  const kinds = byMeaning.get(meaning) ?? new Map<string, Kind>()
  byMeaning.set(meaning, kinds)
  const key = JSON.stringify([way.resource.name, way.own, ...way.relations])
  const kind = kinds.get(key) ?? kindOf(ownership, known, way)
  kinds.set(key, kind)
  return kind
}

function kindOf(ownership: Ownership | undefined, { resources, samples: samplesOf }: Known, way: Way): Kind {
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
