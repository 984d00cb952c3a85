/** /livez: the process answers. /readyz: it can do its work, with what is degraded and why. */
import { Problem } from '../../base/problems/problem.ts'
import type { Json } from '../../resources/resource.ts'
import type { Outcome } from './outcome.ts'
import type { Check, Services } from './services.ts'

export const reportHealth = {
  async live(_services: Services, fields: ReadonlySet<string>): Promise<Outcome> {
    return healthy({ status: 'ok' }, fields)
  },

  async ready({ checks }: Services, fields: ReadonlySet<string>): Promise<Outcome> {
    return healthy(readinessOf(await checks(), fields.has('checks')), fields)
  },
}

/** Throws Problem when a part can't do its work; `detailed`: its name is for who may see the checks. */
export function readinessOf(found: Readonly<Record<string, Check>>, detailed: boolean): Readonly<Record<string, Json>> {
  const unavailable = Object.entries(found).find(([, { status }]) => status === 'unavailable')
  if (unavailable) {
    const part = detailed ? `The ${unavailable[0]}` : 'A part of the server'
    throw new Problem('not-ready', `${part} is not available.`, { headers: { 'Retry-After': '5' } })
  }
  const degraded = Object.values(found).some(({ status }) => status === 'degraded')
  const checks = Object.fromEntries(Object.entries(found).map(([name, check]) => [name, { ...check }]))
  return { status: degraded ? 'degraded' : 'ok', checks }
}

/** Field level, as for any resource. */
function healthy(report: Readonly<Record<string, Json>>, fields: ReadonlySet<string>): Outcome {
  const shown = Object.entries(report).filter(([name]) => fields.has(name))
  return { status: 200, headers: {}, body: Object.fromEntries(shown) }
}
