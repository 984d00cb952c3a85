/** Parts of a rule that count for nothing, or not where they seem to: relations, views, actions and attributes. */

import type { Diagnostic } from '../../../base/diagnostic.ts'
import { nearestName } from '../../../base/did-you-mean.ts'
import { type Policy, type Rule, USERS } from '../../../decide/policy.ts'
import { kindOf, needsCaller } from '../../../decide/relations/all-kinds.ts'
import { namesIn } from '../../../decide/rules/terms.ts'
import { namesText } from '../../../present/quote.ts'
import type { Resource } from '../../../resources/resource.ts'
import { CELL, type CheckedPolicy, type PolicyCheck, ruleCheck, warning } from '../check.ts'
import { coveredBy, explicitActions, performed, routedActions } from '../reach/writers.ts'

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

// ---- Finds rules about every resource (`*`) with a name that some resource doesn't have: they never match there.

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

// ---- Finds relations that compare an attribute which no caller has: a deny that needs one of them denies nothing.

export const undeclaredAttributes: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'attribute-undeclared',
      meaning:
        'A relation compares a field with an attribute of the caller (`equals: subject.…`) which the schema of ' +
        '`users` does not declare, and which no entry of `callers.yaml` takes from a token or from a word: the ' +
        'relation never holds for a user with a record, so an allow grants nothing and, worse, a deny denies nothing',
      mend:
        'Correct the name, or add the field to `schemas/users.json`; if only callers without a users record need ' +
        'it, and their tokens have it, suppress the warning and give the reason',
    },
  ],
  find: ({ policy, resources, placeOfKey }) => {
    // Without a directory, tokens alone have attributes, and no file declares their claims.
    const users = resources.byName.get(USERS)
    const isTold = hasToldAttributes(policy)
    return [...policy.ownership].flatMap(([name, { relations }]) =>
      [...relations.values()].flatMap((relation): readonly Diagnostic[] => {
        const { attribute = 'id' } = kindOf(relation).equates?.(relation) ?? {}
        if (!users || attribute === 'id' || users.fields.has(attribute)) return []
        const meant = nearestName(attribute, users.fields.keys())
        if (isTold && meant === undefined) return []
        const message = `\`${USERS}\` declares no \`${attribute}\`, so \`${relation.name}\` of \`${name}\` holds for no user`
        const hint = meant === undefined ? `declare it in the schema of \`${USERS}\`` : `did you mean \`${meant}\`?`
        const place = placeOfKey('ownership.yaml', [name, 'relations', relation.name])
        return [warning(place, 'attribute-undeclared', `${message}, and a deny that needs it denies nothing`, hint)]
      }),
    )
  },
}

/** Whether a service may ask about people whose attributes come from a token, or from its own word. */
function hasToldAttributes({ callers }: Policy): boolean {
  return [...callers.values()].some(({ subjects }) => [...subjects.values()].some(({ kind }) => kind !== 'directory'))
}
