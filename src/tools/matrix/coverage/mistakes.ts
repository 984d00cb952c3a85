/** Mistakes in rules that would change a decision, and that no expectation notices. */
import type { Resources } from '../../../resources/resource.ts'
import { compareDecisions } from '../../diff/decisions/compare-decisions.ts'
import { type MutationContext, tryMutant } from '../mutate/judge-mutant.ts'
import type { Mutant, Operator } from '../mutate/mutants.ts'
import { mutateRules, vocabularyOf } from '../mutate/mutate-rules.ts'
import type { Stated } from '../predict/stated.ts'
import type { PredictedSuite } from '../predict/suite.ts'

/** Mistakes in one line of policy.csv. */
export interface RuleMistakes {
  readonly line: number
  readonly operators: readonly Operator[]
}

/** Of these lines, in their order. A rule that is gone is no mistake here: coverage tells whether somebody depends on it. */
export function unseenMistakes(
  suite: PredictedSuite,
  stated: readonly Stated[],
  lines: ReadonlySet<number>,
): readonly RuleMistakes[] {
  const { evaluated, files, resources } = suite
  const mutants = mutateRules({ files, resources }, vocabularyOf(evaluated.policy))
  const context = { ...suite, stated }
  const unseen = mutants.filter(
    (mutant) => lines.has(mutant.line) && !GONE.has(mutant.operator) && isUnseen(context, mutant),
  )
  return [...Map.groupBy(unseen, ({ line }) => line)].map(([line, some]) => {
    return { line, operators: [...new Set(some.map(({ operator }) => operator))] }
  })
}

const GONE: ReadonlySet<Operator> = new Set(['drop-rule', 'drop-deny'])

function isUnseen(context: MutationContext, mutant: Mutant): boolean {
  const tried = tryMutant(context, mutant)
  if (typeof tried === 'string' || tried.noticed) return false
  const policies = { before: context.evaluated.policy, after: tried.evaluated.policy }
  const changes = compareDecisions(policies, { resources: context.resources, now: context.predictor.now })
  // What a list may be filtered by no cell asks.
  return changes.some(({ part, ...where }) => part !== 'query' && isServed(context.resources, where))
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
