/** The conditions that hold for an attack: as many as rules about the request name, so that none of them protects. */
import type { RouteMethod } from '../../../decide/callers-and-routes.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import { arrangeRequest } from '../arrange/arrange-request.ts'
import { actionsAbout, conditionsAbout } from '../arrange/conditions-about.ts'
import type { EvaluatedPolicy } from '../predict/predict.ts'
import { callerIn, columnText, type MatrixColumn } from '../read/expectation.ts'

export interface Met {
  /** The names of the conditions that hold. */
  readonly when: readonly string[]
  readonly facts: ConditionFacts
}

/** More conditions than this aren't combined. */
const MOST = 6

type About = Pick<RouteMethod, 'resource' | 'endpoint'>

const known = new WeakMap<EvaluatedPolicy, Map<string, Met>>()

/** The most conditions that a request of this caller can meet together. `now`: milliseconds since the epoch. */
export function mostConditions(evaluated: EvaluatedPolicy, about: About, column: MatrixColumn, now: number): Met {
  const { resource, endpoint } = about
  const key = [resource.name, endpoint.operation, endpoint.action, columnText(column)].join(' ')
  const found = known.getOrInsertComputed(evaluated, () => new Map())
  return found.getOrInsertComputed(key, () => findMost(evaluated, about, column, now))
}

function findMost({ policy, grants }: EvaluatedPolicy, about: About, column: MatrixColumn, now: number): Met {
  const { resource, endpoint } = about
  const named = conditionsAbout(policy, resource, endpoint)
  const subject = grants.subjectOf(callerIn(column))
  const tables = actionsAbout(policy, resource, endpoint).map(({ name }) => grants.table(subject, resource.name, name))
  const counting = named.filter((name) => tables.some(({ conditions }) => conditions.includes(name))).slice(0, MOST)
  const conditions = named.flatMap((name) => policy.conditions.get(name) ?? [])
  for (const when of largestFirst(counting)) {
    const facts = arrangeRequest(conditions, new Set(when), { now, hasCredentials: column.kind !== 'anonymous' })
    if (facts && facts.credential !== 'provider') return { when, facts }
  }
  return { when: [], facts: { now, hasCredentials: column.kind !== 'anonymous' } }
}

function largestFirst(names: readonly string[]): readonly (readonly string[])[] {
  const subsets = names.reduce<readonly (readonly string[])[]>(
    (some, name) => some.flatMap((subset) => [[...subset, name], subset]),
    [[]],
  )
  return subsets.toSorted((a, b) => b.length - a.length)
}
