/** /livez: the process answers. /readyz: it can do its work, with what is degraded and why. */
import { Problem } from '../problems/problem.ts'
import type { Json } from '../resources/resource.ts'
import type { Outcome } from './outcome.ts'
import type { Services } from './services.ts'

export const reportHealth = {
  async live(_services: Services, fields: ReadonlySet<string>): Promise<Outcome> {
    return healthy({ status: 'ok' }, fields)
  },

  async ready({ checks }: Services, fields: ReadonlySet<string>): Promise<Outcome> {
    const found = await checks()
    const unavailable = Object.entries(found).find(([, { status }]) => status === 'unavailable')
    if (unavailable) {
      throw new Problem('not-ready', `The ${unavailable[0]} is not available.`, { headers: { 'Retry-After': '5' } })
    }
    const degraded = Object.values(found).some(({ status }) => status === 'degraded')
    const checked = Object.fromEntries(Object.entries(found).map(([name, check]) => [name, { ...check }]))
    return healthy({ status: degraded ? 'degraded' : 'ok', checks: checked }, fields)
  },
}

/** Field level, as for any resource. */
function healthy(report: Readonly<Record<string, Json>>, fields: ReadonlySet<string>): Outcome {
  const shown = Object.entries(report).filter(([name]) => fields.has(name))
  return { status: 200, headers: {}, body: Object.fromEntries(shown) }
}
