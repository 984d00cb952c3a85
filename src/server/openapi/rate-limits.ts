/** Rate limits as a document tells them; OpenAPI has no keyword for them, so they stand under `x-rate-limits`. */
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
