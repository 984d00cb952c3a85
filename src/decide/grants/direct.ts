/**
 * A policy evaluated directly: for tools that ask millions of questions, where Casbin would take minutes. Random tests
 * hold it equal to Casbin and to the oracle (test/review/evaluate.test.ts). The server never uses it.
 */

import type { Resource, Resources } from '../../resources/resource.ts'
import type { Policy, Rule } from '../policy.ts'
import { livingAt } from '../rules/rule-table.ts'
import { ruleNames } from '../rules/terms.ts'
import { type GrantsAbout, type RuleIndex, Snapshot } from '../snapshot.ts'
import type { IsGranted } from './grant.ts'
import type { GrantTable } from './grant-table.ts'
import type { Subject } from './subjects.ts'

/** A snapshot whose tables need no loading. */
export interface DirectPolicy extends Snapshot {
  table(subject: Subject, resource: string, action: string): GrantTable
}

/**
 * With the rules that are in force at a time (milliseconds since the epoch); its tables refer to the same rule objects
 * as `policy`.
 */
export function directPolicy(policy: Policy, resources: Resources, now = Number.NEGATIVE_INFINITY): DirectPolicy {
  const engine = {
    rules: indexOf(livingAt(policy, now).rules),
    granter:
      ({ resource }: GrantsAbout) =>
      () =>
        grantsBy(policy, resource),
  }
  return new Snapshot(policy, resources, engine) as DirectPolicy
}

/** semantics.md, "What is granted". */
function grantsBy(policy: Policy, resource: Resource): IsGranted {
  const views = policy.views.get(resource.name)
  return (field, _held, matching) => {
    const naming = matching.filter((rule) => ruleNames(views, rule, field))
    return naming.length > 0 && naming.every(({ effect }) => effect === 'allow')
  }
}

function indexOf(rules: readonly Rule[]): RuleIndex {
  const bySubject = Map.groupBy(rules, ({ subject }) => subject)
  return {
    names: (subject) => bySubject.has(subject),
    get subjects() {
      return [...bySubject.keys()].sort()
    },
    about: (subjects, resources) =>
      subjects
        .flatMap((subject) => bySubject.get(subject) ?? [])
        .filter(({ resource }) => resources.includes(resource))
        .sort((a, b) => a.line - b.line),
  }
}
