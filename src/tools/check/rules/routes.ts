/** Finds methods of routes that nobody can ever use. */

import { concernsObject, type RouteMethod, routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import type { ActionRules } from '../../../decide/rules/action-rules.ts'
import type { ActionRulesIndex } from '../../../decide/rules/rule-index.ts'
import type { Resources } from '../../../resources/resource.ts'
import { type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'

const EVERYONE: ReadonlySet<string> = new Set(['everyone'])

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
  // HEAD is possible wherever GET is.
  const routeMethods = routeMethodsOf(resources).filter(({ method }) => method !== 'HEAD')
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

/**
 * Whether some caller is allowed. Trying the relations of each allow is enough: with more relations only more denies
 * match.
 */
function isReached(index: ActionRulesIndex, actionRules: ActionRules, routeMethod: RouteMethod): boolean {
  return actionRules.subjects('allow').some((subject) =>
    actionRules.groups('allow', subject).some(({ relations, fields }) => {
      // A redirect is decided at the role level: a caller who could have the relations passes.
      if (relations !== 0n && !concernsObject(routeMethod) && routeMethod.route.redirect === undefined) return false
      return (fields & ~actionRules.named('deny', index.subjectsOf(subject), relations)) !== 0n
    }),
  )
}

function isClosedOnPurpose(actionRules: ActionRules): boolean {
  return actionRules.named('deny', EVERYONE, 0n) !== 0n
}
