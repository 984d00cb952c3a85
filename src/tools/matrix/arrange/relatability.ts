/** Whether a caller with credentials can relate to an object in exactly these ways; remembered for the same files. */
import type { Policy } from '../../../decide/policy.ts'
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

const found = new WeakMap<SamplesOf, WeakMap<Policy['ownership'], Kinds>>()

export function relatability({ ownership }: Pick<Policy, 'ownership'>, known: Known, way: Way): Kind {
  const kinds = kindsOf(known.samples, ownership)
  const key = JSON.stringify([way.resource.name, way.own, ...way.relations])
  const kind = kinds.get(key) ?? kindOf(ownership, known, way)
  kinds.set(key, kind)
  return kind
}

function kindOf(ownership: Policy['ownership'], { resources, samples: samplesOf }: Known, way: Way): Kind {
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
  return arrangeRelated({ ...common, ownership: ownership.get(way.resource.name) }).kind
}

function kindsOf(samples: SamplesOf, ownership: Policy['ownership']): Kinds {
  const byOwnership = found.get(samples) ?? new WeakMap<Policy['ownership'], Kinds>()
  const kinds = byOwnership.get(ownership) ?? new Map<string, Kind>()
  found.set(samples, byOwnership.set(ownership, kinds))
  return kinds
}
