/** Finds rules about every resource (`*`) with a name that some resource doesn't have: they never match there. */

import type { Rule } from '../../../decide/policy.ts'
import { namesIn } from '../../../decide/rules/terms.ts'
import { namesText } from '../../../present/quote.ts'
import type { Resource } from '../../../resources/resource.ts'
import { CELL, ruleCheck } from '../check.ts'
import { coveredBy, performed, routedActions } from '../reach/rule-actions.ts'

export const relationGaps = ruleCheck(
  {
    code: 'relation-gap',
    meaning:
      'The line is about every resource (`*`) and names a relation that one of them lacks: for this resource, an ' +
      'allow grants nothing and, worse, a deny denies nothing. A deny of `!relation` is an error, because the wall has a gap',
    mend: 'Declare the relation for this resource in `ownership.yaml`, or write a line for each resource you mean',
  },
  CELL.relation,
  (rule, { policy, resources }) => {
    const named = namesIn(rule).filter((name) => !policy.conditions.has(name))
    if (rule.resource !== '*' || named.length === 0) return undefined
    const lacks = (resource: Resource) => {
      const declared = policy.ownership.get(resource.name)?.relations
      return named.filter((name) => !declared?.has(name))
    }
    const lacking = concerned(rule, coveredBy(rule, resources)).filter((resource) => lacks(resource).length > 0)
    return gap(rule, new Set(lacking.flatMap(lacks)), lacking)
  },
)

export const viewGaps = ruleCheck(
  {
    code: 'view-gap',
    meaning:
      'The line is about every resource (`*`) and names only views that one of them lacks: for this resource, an ' +
      'allow grants nothing and, worse, a deny denies nothing',
    mend: 'Declare the view for this resource in `views.yaml`, or write a line for each resource you mean',
  },
  CELL.fields,
  (rule, { policy, resources }) => {
    if (rule.resource !== '*' || rule.views.includes('*')) return undefined
    const lacking = concerned(rule, coveredBy(rule, resources))
      .filter(({ actions }) => performed(rule, new Set(actions.keys())).some((name) => actions.get(name)?.hasFields))
      .filter(({ name }) => !rule.views.some((view) => policy.views.get(name)?.has(view)))
    return gap(rule, rule.views, lacking)
  },
)

/** The resources with a route that needs one of the rule's actions. */
function concerned(rule: Rule, covered: readonly Resource[]): readonly Resource[] {
  return covered.filter((resource) => performed(rule, routedActions(resource)).length > 0)
}

function gap(rule: Rule, missing: Iterable<string>, lacking: readonly Resource[]) {
  if (lacking.length === 0) return undefined
  const where = namesText(lacking.map(({ name }) => name))
  const nothing = rule.effect === 'deny' ? 'this deny denies nothing there' : 'this line grants nothing there'
  const message = `${namesText(missing)} isn't declared for ${where}: ${nothing}`
  return { message, hint: 'declare it there, or write a line for each resource you mean' }
}
