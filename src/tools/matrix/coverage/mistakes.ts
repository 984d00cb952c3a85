/** Mistakes in rules that would change a decision, and that no expectation notices. */
import type { Resources } from '../../../resources/resource.ts'
import { compareDecisions } from '../../diff/decisions/compare-decisions.ts'
import { type Court, tryMutant } from '../mutate/judge-mutant.ts'
import type { Mutant, Operator } from '../mutate/mutant.ts'
import { mutateRules } from '../mutate/mutate-rules.ts'
import { vocabularyOf } from '../mutate/vocabulary.ts'
import type { Bench } from '../predict/bench.ts'
import type { Stated } from '../predict/stated.ts'

/** Mistakes in one line of policy.csv. */
export interface RuleMistakes {
  readonly line: number
  readonly operators: readonly Operator[]
}

/** Of these lines, in their order. A rule that is gone is no mistake here: coverage tells whether somebody depends on it. */
export function unseenMistakes(
  bench: Bench,
  stated: readonly Stated[],
  lines: ReadonlySet<number>,
): readonly RuleMistakes[] {
  const { grants, reviewed, resources } = bench
  const mutants = mutateRules({ files: reviewed.files, resources }, vocabularyOf(grants.policy))
  const court = { ...bench, stated }
  const unseen = mutants.filter(
    (mutant) => lines.has(mutant.line) && !GONE.has(mutant.operator) && isUnseen(court, mutant),
  )
  return [...Map.groupBy(unseen, ({ line }) => line)].map(([line, some]) => {
    return { line, operators: [...new Set(some.map(({ operator }) => operator))] }
  })
}

const GONE: ReadonlySet<Operator> = new Set(['drop-rule', 'drop-deny'])

function isUnseen(court: Court, mutant: Mutant): boolean {
  const tried = tryMutant(court, mutant)
  if (typeof tried === 'string' || tried.noticed) return false
  const policies = { before: court.grants.policy, after: tried.grants.policy }
  const changes = compareDecisions(policies, { resources: court.resources, now: court.ground.now })
  // What a list may be filtered by no cell asks.
  return changes.some(({ part, ...where }) => part !== 'query' && isServed(court.resources, where))
}

interface Where {
  readonly resources: readonly string[]
  readonly actions: readonly string[]
}

/** An action that no route asks about changes nothing that anybody meets. */
function isServed({ routes }: Resources, { resources, actions }: Where): boolean {
  return routes.some(
    ({ resource, endpoints }) =>
      resources.includes(resource) && [...endpoints.values()].some(({ action }) => actions.includes(action)),
  )
}
