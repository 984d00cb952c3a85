/** The expectations that the policy as it is meets: what can notice a change of it. */
import type { Place } from '../problems/diagnostic.ts'
import type { Bench } from './predict/bench.ts'
import type { Grants } from './predict/grants.ts'
import { holds } from './predict/predict-cell.ts'

/** One expectation: the resources that it is about, and whether it holds under another policy. */
export interface Stated {
  readonly place: Place
  readonly resources: ReadonlySet<string>
  holds(grants: Grants): boolean
}

export function statedOf({ ground, grants, expectations, resources }: Bench): readonly Stated[] {
  const resourceAt = new Map(resources.routes.map(({ path, resource }) => [path, resource]))
  return expectations
    .filter((expectation) => holds(ground, grants, expectation))
    .map((expectation) => ({
      place: expectation.place,
      resources: new Set([resourceAt.get(expectation.path) ?? '']),
      holds: (other) => holds(ground, other, expectation),
    }))
}
