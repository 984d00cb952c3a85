/** Readiness: checks whether each part of the server works. */

import type { DecisionLog } from '../../decision-log/decision-log.ts'
import type { Limiter } from '../../limits/limiter.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { Store } from '../../store/contract.ts'
import { policyDetail } from '../policy-changes/policy-log.ts'
import type { Check } from '../routes/handler.ts'
import type { Shadow } from '../shadow/shadow.ts'

interface Checked {
  readonly store: Store
  readonly policy: LivePolicy
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
  limiter,
  decisionLog,
  shadow,
  draining,
  note,
}: Checked): Promise<Record<string, Check>> {
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
    policy: policy.faults.length > 0 ? { status: 'degraded', detail: policyDetail(policy) } : { status: 'ok' },
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
