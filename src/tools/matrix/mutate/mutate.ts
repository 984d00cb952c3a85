/** All mutants of a policy, judged one by one. */
import { cellsOfUniverse } from '../coverage/coverage.ts'
import type { Bench } from '../predict/bench.ts'
import { statementsOf } from '../predict/stated.ts'
import { judgeMutant, type Verdict } from './judge-mutant.ts'
import { makeMutants } from './make-mutants.ts'
import type { Mutant, Operator } from './mutant.ts'

export interface Judged {
  readonly mutant: Mutant
  readonly verdict: Verdict
}

export interface Mutation {
  readonly judged: readonly Judged[]
  /** How many expectations the policy as it is doesn't meet; they notice nothing. */
  readonly unmet: number
  /** How many cases in steps can't be foretold; they notice nothing. */
  readonly unpredictable: number
  /** How many cells can't be asked, so that nothing can notice a mistake there. */
  readonly unasked: number
}

interface Options {
  /** Undefined for all. */
  readonly only: ReadonlySet<Operator> | undefined
  readonly observe: (done: number, of: number) => void
}

export function mutate(bench: Bench, { only, observe }: Options): Mutation {
  const { reviewed, resources, samples, grants } = bench
  const source = { files: reviewed.files, resources }
  const mutants = makeMutants(source, grants.policy, {
    only,
    valuesOf: (resource, field) => (samples.get(resource.name)?.values.get(field) ?? []).filter(isScalar),
  })
  const { met, unmet, unpredictable } = statementsOf(bench)
  const judged = mutants.map((mutant, i) => {
    observe(i, mutants.length)
    return { mutant, verdict: judgeMutant({ ...bench, stated: met }, mutant) }
  })
  return { judged, unmet, unpredictable, unasked: cellsOfUniverse(bench).unasked.length }
}

/** Killed ones among those that some request could notice, in percent. */
export function scoreOf({ judged }: Mutation): number {
  const count = (kind: Verdict['kind']) => judged.filter(({ verdict }) => verdict.kind === kind).length
  const noticeable = count('killed') + count('survived')
  return noticeable === 0 ? 100 : (100 * count('killed')) / noticeable
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}
