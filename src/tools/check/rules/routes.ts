/** Finds methods of routes that nobody can ever use. */

import type { ActionRules } from '../../../analysis/action-rules.ts'
import { NOWHERE } from '../../../analysis/regions.ts'
import type { ActionRulesIndex } from '../../../analysis/rule-index.ts'
import { decisionsOf } from '../../../analysis/space.ts'
import { type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import { relationColumnText } from '../../../decide/rules/terms.ts'
import { ACCESS } from '../../../resources/built-in/access.ts'
import type { Resources } from '../../../resources/resource.ts'
import { type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'

export const unreachedRoutes: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'route-unreached',
      meaning:
        'A schema declares a method of a route that nobody is allowed to use. The finding is at line 1 of ' +
        '`policy.csv`, because no line is at fault',
      mend:
        'Allow it to a role, delete the method from the schema file, or, if this is intended, deny the action to ' +
        '`everyone`',
    },
  ],
  find: ({ files, resources, index }) => {
    const place = { file: files['policy.csv'].name, line: 1, column: 1 }
    return unreached(resources, index).map(([{ resource, action }, requests]) => {
      const nothing = `nothing grants \`${action.name}\` on \`${resource.name}\``
      const message = `nobody may ${requests.join(', ')}: ${nothing}`
      const hint =
        'allow it to a role, deny it to `everyone` if this is intended, or delete the method from the schema file'
      return warning(place, 'route-unreached', message, hint)
    })
  },
}

/** The actions that nobody may do: each with one of its routes, and the methods and paths that need it. */
function unreached(
  resources: Resources,
  index: ActionRulesIndex,
): readonly (readonly [RouteMethod, readonly string[]])[] {
  // HEAD is possible wherever GET is. A policy that answers no other service is whole.
  const routeMethods = routeMethodsOf(resources).filter(
    ({ method, resource }) => method !== 'HEAD' && resource !== ACCESS,
  )
  const closed = routeMethods.filter((routeMethod) => {
    const actionRules = index.rulesOf(routeMethod.resource.name, routeMethod.action.name)
    return actionRules !== undefined && !isReached(index, actionRules, routeMethod) && !isClosedOnPurpose(actionRules)
  })
  const byAction = Map.groupBy(closed, ({ resource, action }) => JSON.stringify([resource.name, action.name]))
  return [...byAction.values()].flatMap((some) => {
    const [first] = some
    return first ? [[first, some.map(({ method, route }) => `\`${method} ${route.path}\``)] as const] : []
  })
}

/** Whether some caller is allowed: with more subjects, only more denies match. */
function isReached(index: ActionRulesIndex, actionRules: ActionRules, routeMethod: RouteMethod): boolean {
  const { action, resource } = actionRules
  const { regions, first, second } = actionRules.space
  // A redirect is decided at the role level: a caller who could have the relations passes.
  const decision = decisionsOf(resource, action).changes && routeMethod.route.redirect === undefined ? second : first
  return actionRules
    .subjects('allow')
    .values()
    .some((subject) =>
      actionRules
        .granted(actionRules.groups('allow', subject), index.subjectsOf(subject))
        .some(({ region }) => regions.both(region, decision) !== NOWHERE),
    )
}

/** Everyone is denied something of it, whatever holds. */
function isClosedOnPurpose(actionRules: ActionRules): boolean {
  return actionRules
    .groups('deny', 'everyone')
    .some(({ rules }) => rules.some(({ rule }) => relationColumnText(rule) === 'any'))
}
