/** Every decision that differs between two policies, as changes that a person can read: grouped, and told once. */
import type { Policy } from '../../policy/policy.ts'
import type { Resources } from '../../resources/resource.ts'
import { columnOfRoles } from '../space.ts'
import type { DecisionChange } from './change.ts'
import { type Column, comparePairs, compareSingles } from './compare-callers.ts'
import { groupFindings, type TopicFindings } from './group-findings.ts'
import { type Sides, sidesOf } from './relation-space.ts'
import { topicsOf } from './spoken.ts'

/** Throws ReviewError for more relations than can be compared. */
export function compareDecisions(policies: Sides<Policy>, { byName }: Resources): readonly DecisionChange[] {
  const columns = columnsOf(policies)
  const findings: TopicFindings[] = []
  for (const topic of topicsOf(policies, byName.values())) {
    // A user whom no rule here names is `everyone`.
    const named = (subject: string) => topic.said.before.has(subject) || topic.said.after.has(subject)
    const here = columns.filter(({ name }) => !name.startsWith('user:') || named(name))
    findings.push({
      resource: topic.resource.name,
      action: topic.action.name,
      subjects: here.map(({ name }) => name),
      singles: compareSingles(topic, here),
      pairs: comparePairs(topic, here),
    })
  }
  return groupFindings(findings, columns)
}

/** anonymous, everyone (a caller with no role), each role and each user that either policy names. */
function columnsOf(policies: Sides<Policy>): readonly Column[] {
  const both = (names: (policy: Policy) => Iterable<string>) => {
    return [...new Set([...names(policies.after), ...names(policies.before)])]
  }
  const users = both(({ rules }) => rules.map(({ subject }) => subject).filter((name) => name.startsWith('user:')))
  const same = (name: string, subjects: readonly string[]): Column => {
    return { name, subjects: sidesOf(() => new Set(subjects)) }
  }
  return [
    same('everyone', ['everyone']),
    same('anonymous', ['everyone', 'anonymous']),
    ...both(({ roles }) => roles.keys()).map((name) => {
      return { name, subjects: sidesOf((side) => columnOfRoles(policies[side], [name]).subjects) }
    }),
    ...users.map((name) => same(name, ['everyone', name])),
  ]
}
