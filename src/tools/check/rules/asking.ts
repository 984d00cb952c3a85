/** Finds rules that let more than services ask what others may do: answers tell ids of people and their rights. */
import { inheritedBy } from '../../../decide/callers-and-routes.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import { coversResource } from '../../../decide/rules/terms.ts'
import { namesText } from '../../../present/quote.ts'
import type { Resource } from '../../../resources/resource.ts'
import { CELL, ruleCheck } from '../check.ts'
import { coveredBy, performed } from '../reach/rule-actions.ts'

/** What each answer tells, by action of `system/access`. */
const ASKING = new Set(['evaluate', 'search', 'filter', 'forward'])
const ACCESS = 'system/access'

export const broadAsking = ruleCheck(
  {
    code: 'access-broad',
    meaning:
      '`everyone`, `anonymous` or a role that people have may ask about others at `system/access` (`evaluate`, ' +
      '`search`, `filter`, `forward`): the answers tell ids of people, and what each may do',
    mend:
      'Allow it to a role that only services have; if a role of a service has other rights too, give it an entry in ' +
      '`callers.yaml`',
  },
  CELL.subject,
  (rule, { policy, resources }) => {
    if (rule.effect !== 'allow' || !coveredBy(rule, resources).some(({ name }) => name === ACCESS)) return undefined
    const asked = performed(rule, ASKING)
    const who = broadAskers(rule, policy, [...resources.byName.values()])
    if (asked.length === 0 || who === undefined) return undefined
    const message = `\`${rule.subject}\`, ${who}, may ${namesText(asked)} at \`${ACCESS}\`: answers tell who may do what`
    return { message, hint: 'allow it to a role that only services have' }
  },
)

/** Undefined for services. */
function broadAskers({ subject, before }: Rule, policy: Policy, resources: readonly Resource[]): string | undefined {
  if (before.some(({ name, negated }) => !negated && needsApiKey(name, policy))) return undefined
  if (subject === 'anonymous') return 'whoever reaches the server without credentials'
  if (subject === 'everyone') return 'whoever reaches the server'
  if (!policy.roles.has(subject)) return undefined
  // An entry says that a role is a service, but people can inherit it.
  const isOfPeople = [...policy.roles.keys()].some((role) => {
    const inherited = inheritedBy(policy, role)
    return !policy.callers.has(role) && inherited.has(subject) && mayTouchData(inherited, policy, resources)
  })
  return isOfPeople ? 'a role with rights to data, which people have' : undefined
}

function needsApiKey(name: string, { conditions }: Policy): boolean {
  const condition = conditions.get(name)
  return condition?.kind === 'credential' && condition.credentials.every((kind) => kind === 'api-key')
}

function mayTouchData(roles: ReadonlySet<string>, { rules }: Policy, resources: readonly Resource[]): boolean {
  const data = resources.filter(({ builtIn }) => !builtIn)
  return rules.some((rule) => {
    return rule.effect === 'allow' && roles.has(rule.subject) && data.some((resource) => coversResource(rule, resource))
  })
}
