/** Finds rate limits that can never refuse anything. */

import type { ActionRulesIndex } from '../../../analysis/rule-index.ts'
import { routeMethodsOf } from '../../../decide/callers-and-routes.ts'
import type { Limit } from '../../../decide/policy.ts'
import type { Resources } from '../../../resources/resource.ts'
import { type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'

/**
 * A limiter may count a request for up to a twentieth of the window longer than the window
 * (src/limits/sliding-window.ts).
 */
const LONGEST_COUNT = 1.05

export const limitsThatNeverMatch: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'limit-never-matches',
      meaning:
        'The limit counts no request: no route has its resource and action, or it counts only requests with rejected ' +
        'credentials and names a role, which these requests do not have',
      mend: 'Correct `match`, or delete the limit',
    },
  ],
  find: ({ policy, resources, placeOfKey }) =>
    policy.limits.limits.flatMap(({ name, match }) => {
      const why = neverMatches(match, resources)
      if (why === undefined) return []
      const message = `the limit \`${name}\` counts no request: ${why}`
      const place = placeOfKey('limits.yaml', ['limits', name])
      return [warning(place, 'limit-never-matches', message, 'correct `match`, or delete the limit')]
    }),
}

function neverMatches(
  { role, resource, action, credentials }: Limit['match'],
  resources: Resources,
): string | undefined {
  if (credentials === 'rejected' && role !== undefined && !['everyone', 'anonymous'].includes(role)) {
    return 'a request whose credentials were rejected has no role'
  }
  if (resource === undefined && action === undefined) return undefined
  const met = routeMethodsOf(resources).some(
    (routeMethod) =>
      (resource ?? routeMethod.resource.name) === routeMethod.resource.name &&
      (action ?? routeMethod.action.name) === routeMethod.action.name,
  )
  if (met) return undefined
  const what = action === undefined ? '' : ` for \`${action}\``
  return resource === undefined ? `no resource has a route${what}` : `\`${resource}\` has no route${what}`
}

export const shadowedLimits: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'limit-shadowed',
      meaning:
        'The limit can never refuse anything: another limit counts the same requests (and perhaps more) by the same ' +
        'key, and always refuses first',
      mend: 'Delete it, or lower its `allow`',
    },
  ],
  find: ({ policy, index, placeOfKey }) =>
    policy.limits.limits.flatMap((limit, i, limits) => {
      const tighter = limits.find((other, j) => {
        if (other === limit || !shadows(other, limit, index)) return false
        // If two limits shadow each other, the later one is needless.
        return j < i || !shadows(limit, other, index)
      })
      if (!tighter) return []
      const message = `the limit \`${limit.name}\` can never refuse anything: \`${tighter.name}\` refuses first`
      return [
        warning(placeOfKey('limits.yaml', ['limits', limit.name]), 'limit-shadowed', message, 'delete it, or lower it'),
      ]
    }),
}

/** Whether `limit` can't be reached while `other` holds. */
function shadows(other: Limit, limit: Limit, index: ActionRulesIndex): boolean {
  if (other.per !== limit.per || !countsAll(other.match, limit.match, index)) return false
  const windows = other.windowMs === limit.windowMs ? 1 : Math.ceil((limit.windowMs * LONGEST_COUNT) / other.windowMs)
  return other.allow * windows <= limit.allow
}

/** Whether the wider match fits every request that the narrower one fits. */
function countsAll(wider: Limit['match'], narrower: Limit['match'], index: ActionRulesIndex): boolean {
  const same = (['resource', 'action', 'credentials'] as const).every(
    (key) => wider[key] === undefined || wider[key] === narrower[key],
  )
  if (!same || wider.role === undefined || wider.role === 'everyone') return same
  return narrower.role !== undefined && narrower.role !== 'everyone' && index.subjectsOf(narrower.role).has(wider.role)
}
