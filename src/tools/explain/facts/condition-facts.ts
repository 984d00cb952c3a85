/** Whether the conditions of a request hold, as far as the question tells; the cases decide about the others. */
import { smallestSubsets } from '../../../base/subsets.ts'
import {
  conditionHolds,
  describeCondition,
  type RequestCondition,
} from '../../../decide/request-conditions/all-conditions.ts'
import { ToolError } from '../../load-policy.ts'
import type { ConditionFact } from '../explanation.ts'
import type { ExplainQuestion } from '../question.ts'

/** The limit of unknown conditions: they make 2^n sets. */
const MOST_UNKNOWN = 6

/** In the order of conditions.yaml. */
export function conditionFacts(question: ExplainQuestion, named: ReadonlySet<string>): readonly ConditionFact[] {
  const { conditions } = question.reviewed.policy
  return [...conditions.values()].filter(({ name }) => named.has(name)).map((one) => conditionFact(question, one))
}

function conditionFact({ told, caller, now }: ExplainQuestion, condition: RequestCondition): ConditionFact {
  const { name } = condition
  const held = told.conditions?.holds.get(name)
  if (held !== undefined) return { name, holds: held, why: `${told.conditions?.from} says so` }
  const asks = describeCondition(condition)
  const missing = missingFact(condition, told.address, caller.kind)
  if (missing !== undefined) return { name, holds: null, why: `it holds if ${asks}; ${missing}` }
  const holds = conditionHolds(condition, { now, address: told.address, hasCredentials: caller.kind === 'caller' })
  return { name, holds, why: holds ? asks : `it holds if ${asks}` }
}

/** What the command line would have to tell; undefined if the condition can be decided. */
function missingFact(
  { kind }: RequestCondition,
  address: string | undefined,
  caller: 'caller' | 'anonymous',
): string | undefined {
  switch (kind) {
    case 'hours':
    case 'told':
      return undefined
    case 'network':
      return address === undefined ? 'give --address or --with' : undefined
    case 'signedIn':
    case 'credential':
      return caller === 'caller' ? 'give --with' : undefined
  }
}

/** The sets of conditions that may hold, smallest first. Throws ToolError if there are too many. */
export function possibleConditionSets(facts: readonly ConditionFact[]): readonly (readonly string[])[] {
  const unknown = facts.filter(({ holds }) => holds === null)
  if (unknown.length > MOST_UNKNOWN) {
    const names = unknown.map(({ name }) => name).join(', ')
    throw new ToolError(`${unknown.length} conditions are not known (${names}): name those that hold with --with`)
  }
  const certain = facts.filter(({ holds }) => holds === true).map(({ name }) => name)
  return smallestSubsets(unknown).map((set) => [...certain, ...set.map(({ name }) => name)])
}
