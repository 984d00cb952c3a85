/** Finds parts of a rule that no request can ever match. */

import type { Rule } from '../../../decide/policy.ts'
import { needsCaller } from '../../../decide/relations/all-kinds.ts'
import { namesIn } from '../../../decide/rules/terms.ts'
import { namesText } from '../../../present/quote.ts'
import type { Resource } from '../../../resources/resource.ts'
import { CELL, type CheckedPolicy, ruleCheck } from '../check.ts'
import { coveredBy, explicitActions, routedActions } from '../reach/rule-actions.ts'

export const relationsThatNeverHold = ruleCheck(
  {
    code: 'relation-never-holds',
    meaning:
      'The relation can never hold there: OPTIONS concerns no object, and no relation like `owner` holds for a ' +
      'caller without credentials',
    mend: 'Write `any`, or write a separate line for the actions or callers that the relation is meant for',
  },
  CELL.relation,
  (rule, { policy, resources }) => {
    const message = neverHolds(rule, coveredBy(rule, resources), policy)
    if (!message) return undefined
    const hint = rule.effect === 'deny' ? 'write `any`; this line denies nothing now' : 'write `any`'
    return { message, hint }
  },
)

function neverHolds(
  rule: Rule,
  covered: readonly Resource[],
  { ownership, conditions }: CheckedPolicy['policy'],
): string | undefined {
  const { subject, actions } = rule
  const relations = namesIn(rule).filter((name) => !conditions.has(name))
  if (relations.length === 0) return undefined
  const named = namesText(relations)
  if (actions.includes('options')) return `${named} never holds for \`options\`, which concerns no object`
  const comparesCaller = (name: string) =>
    covered.every((resource) => {
      const relation = ownership.get(resource.name)?.relations.get(name)
      return relation === undefined || needsCaller(relation)
    })
  const asked = [...rule.before, ...(rule.after ?? [])].filter(({ negated }) => !negated).map(({ name }) => name)
  const hopeless = asked.find((name) => relations.includes(name) && comparesCaller(name))
  if (subject !== 'anonymous' || hopeless === undefined) return undefined
  return `\`${hopeless}\` never holds for \`anonymous\`: without credentials there is no caller to compare with`
}

export const viewsWithoutFields = ruleCheck(
  {
    code: 'view-without-fields',
    meaning:
      'The line names a view for an action that has no fields (`delete`, `options`): the line never matches this ' +
      'action, so an allow grants nothing and a deny denies nothing',
    mend: 'Write a separate line for this action, with `*` in the fields column',
  },
  CELL.fields,
  (rule, { resources }) => {
    if (rule.views.includes('*')) return undefined
    const covered = coveredBy(rule, resources)
    const whole = explicitActions(rule).filter((name) => covered.every((resource) => hasNoFields(resource, name)))
    return whole.length === 0 ? undefined : viewWithoutFields(rule, whole)
  },
)

/** Also true for a resource without the action. */
function hasNoFields({ actions }: Resource, name: string): boolean {
  return !actions.get(name)?.hasFields
}

function viewWithoutFields(rule: Rule, actions: readonly string[]) {
  const nothing = rule.effect === 'deny' ? 'this line denies nothing for it' : 'this line grants nothing for it'
  const message = `${namesText(actions)} has no fields, so a view never matches: ${nothing}`
  return { message, hint: 'write a separate line for this action, with `*` in the fields column' }
}

export const actionsWithoutRoute = ruleCheck(
  {
    code: 'action-without-route',
    meaning: 'No route of the resource has a method for the action, so nobody can ask for it',
    mend: 'Remove the action from the line, or add the method to the schema file',
  },
  CELL.action,
  (rule, { resources }) => {
    const covered = coveredBy(rule, resources).filter(({ builtIn }) => !builtIn)
    if (covered.length === 0) return undefined
    const routed = new Set(covered.flatMap((resource) => [...routedActions(resource)]))
    const without = explicitActions(rule).filter((name) => !routed.has(name))
    if (without.length === 0) return undefined
    const has = rule.resource === '*' ? 'no resource has a' : `\`${rule.resource}\` has no`
    const message = `${has} route for ${namesText(without)}`
    return { message, hint: 'remove the action, or add the method to the schema' }
  },
)
