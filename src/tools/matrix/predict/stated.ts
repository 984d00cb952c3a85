/** The expectations that the policy as it is meets: what can notice a change of it. */
import type { Place } from '../../../base/diagnostic.ts'
import type { Bench } from './bench.ts'
import type { Grants } from './grants.ts'
import { holdsCase, isPredictable, resourcesOf } from './predict-case.ts'
import { holds } from './predict-cell.ts'

/** One expectation: the resources that it is about, and whether it holds under another policy. */
export interface Stated {
  readonly place: Place
  readonly resources: ReadonlySet<string>
  holds(grants: Grants): boolean
}

export interface Statements {
  readonly met: readonly Stated[]
  /** How many the policy as it is doesn't meet. */
  readonly unmet: number
  /** How many cases in steps can't be foretold. */
  readonly unpredictable: number
}

export function statementsOf(bench: Bench): Statements {
  const predictable = bench.cases.filter(isPredictable)
  const stated = [...statedCells(bench), ...statedCases({ ...bench, cases: predictable })]
  const met = stated.filter((one) => one.holds(bench.grants))
  return { met, unmet: stated.length - met.length, unpredictable: bench.cases.length - predictable.length }
}

function statedCells({ ground, expectations, resources }: Bench): readonly Stated[] {
  const resourceAt = new Map(resources.routes.map(({ path, resource }) => [path, resource]))
  return expectations.map((expectation) => ({
    place: expectation.place,
    resources: new Set([resourceAt.get(expectation.path) ?? '']),
    holds: (grants) => holds(ground, grants, expectation),
  }))
}

function statedCases({ ground, grants, cases }: Bench): readonly Stated[] {
  return cases.map((one) => ({
    place: one.place,
    resources: resourcesOf(ground, grants, one),
    holds: (other) => holdsCase(ground, other, one),
  }))
}
