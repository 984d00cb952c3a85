/** Readiness: checks whether each part of the server works. */

import type { DecisionLog } from '../../decision-log/decision-log.ts'
import type { KeyRing } from '../../identity/keys/embedded/key-ring.ts'
import type { Limiter } from '../../limits/limiter.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { Store } from '../../store/contract.ts'
import type { PolicyChannel } from '../policy-changes/follow-versions.ts'
import { policyDetail } from '../policy-changes/policy-log.ts'
import type { Health } from '../routes/handler.ts'
import type { Shadow } from '../shadow/shadow.ts'

interface PartsToCheck {
  readonly store: Store
  readonly policy: LivePolicy
  readonly channel: PolicyChannel | undefined
  readonly now: () => Date
  /** Undefined if this server issues no tokens. */
  readonly keys: Pick<KeyRing, 'readable'> | undefined
  readonly limiter: Limiter
  readonly decisionLog: DecisionLog
  readonly shadow: Shadow | undefined
  readonly draining: () => boolean
  /** The reason why the store doesn't work, only for operators. */
  readonly note: (error: unknown) => void
}

export async function checkParts({
  store,
  policy,
  channel,
  now,
  keys,
  limiter,
  decisionLog,
  shadow,
  draining,
  note,
}: PartsToCheck): Promise<Record<string, Health>> {
  const answers = await store.ping().then(
    () => true,
    (error) => {
      note(error)
      return false
    },
  )
  return {
    server: draining() ? { status: 'unavailable', detail: 'shutting down' } : { status: 'ok' },
    store: answers ? { status: 'ok' } : { status: 'unavailable' },
    policy: checkChannel(channel, now().getTime()) ?? checkFiles(policy),
    ...(keys ? { keys: checkKeys(keys) } : {}),
    ...(shadow ? { candidate: shadow.state() } : {}),
    decisions: decisionLog.failing
      ? { status: 'degraded', detail: "records can't be written; the records of writes wait in the store" }
      : { status: 'ok' },
    limiter:
      limiter.state() === 'ok'
        ? { status: 'ok' }
        : { status: 'degraded', detail: 'Redis does not answer; each process counts alone' },
  }
}

function checkFiles(policy: LivePolicy): Health {
  return policy.faults.length > 0 ? { status: 'degraded', detail: policyDetail(policy) } : { status: 'ok' }
}

function checkKeys(keys: Pick<KeyRing, 'readable'>): Health {
  if (keys.readable()) return { status: 'ok' }
  return { status: 'degraded', detail: "the signing keys can't be read; the previous keys stay in use; read the log" }
}

/** Undefined if the published versions can be read. */
function checkChannel(channel: PolicyChannel | undefined, now: number): Health | undefined {
  const state = channel?.state(now) ?? 'answers'
  if (!channel || state === 'answers') return undefined
  const lost = `the published policy could not be read for ${Math.round(channel.ageMs(now) / 1000)} s`
  return state === 'expired'
    ? { status: 'unavailable', detail: `${lost}; requests are refused` }
    : { status: 'degraded', detail: `${lost}; the last good one decides until it is too old` }
}
