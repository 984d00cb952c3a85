/** Rate limits in a document. OpenAPI has no keyword for them, so they are under `x-rate-limits`. */
import type { Limit } from '../../decide/policy.ts'
import type { Part } from './part.ts'

export function rateLimitsPart(limits: readonly Limit[]): readonly Part[] {
  return limits.map(({ name, per, allow, windowMs, match }) => ({
    name,
    per,
    allow,
    windowSeconds: windowMs / 1000,
    ...(Object.keys(match).length > 0 ? { match: { ...match } } : {}),
  }))
}
