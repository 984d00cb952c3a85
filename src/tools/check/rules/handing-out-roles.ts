/** Writes that hand out roles: the users records say which roles those have who sign in. */
import type { Policy, Rule } from '../../../decide/policy.ts'
import type { Resource } from '../../../resources/resource.ts'
import { USERS } from '../../../store/directory.ts'
import { CELL, type CheckedPolicy } from '../checked.ts'
import { type Check, namesText, warning } from '../finding.ts'
import { coveredBy, performed, writingActions } from '../reach/rule-actions.ts'

const ROLES = 'roles'

export const rolesHandedOut: Check<CheckedPolicy> = {
  codes: [
    {
      code: 'roles-writable',
      meaning:
        'A subject that is not a role with `privileged: true` may write the field `roles` of users records: it can make anybody an admin who signs in, itself included',
      mend: 'Name views without `roles` in the fields column; if handing out roles is meant, write `privileged: true` at the role',
    },
  ],
  find: ({ policy, resources, placeOfLine }) =>
    policy.rules.flatMap((rule) => {
      if (rule.effect !== 'allow' || policy.roles.get(rule.subject)?.privileged) return []
      const writes = coveredBy(rule, resources).flatMap((resource) => writesOfRoles(rule, resource, policy))
      if (writes.length === 0) return []
      const message = `\`${rule.subject}\` isn't privileged, and may ${namesText(writes)} the field \`${ROLES}\` of \`${USERS}\`: the roles of whoever signs in`
      const hint = `name views without \`${ROLES}\`, or write \`privileged: true\` at the role`
      return [warning(placeOfLine(rule.line, CELL.fields), 'roles-writable', message, hint)]
    }),
}

/** The actions by which the rule lets the roles of a users record be written. */
function writesOfRoles(rule: Rule, resource: Resource, { views }: Policy): readonly string[] {
  if (resource.name !== USERS || !resource.fields.has(ROLES)) return []
  const named = rule.views.includes('*') || rule.views.some((view) => views.get(USERS)?.get(view)?.has(ROLES))
  return named ? performed(rule, writingActions(resource)).filter((name) => resource.actions.get(name)?.hasFields) : []
}
