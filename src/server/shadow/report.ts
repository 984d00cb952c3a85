/**
 * Reports the candidate to operators: metrics of all comparisons, log lines of its changes, and a few differences a
 * second.
 */

import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import { CHANGES } from '../../analysis/replay/compare.ts'
import { rulePlace } from '../../decide/evidence.ts'
import type { Masks } from '../../decide/policy.ts'
import { mask } from '../../decision-log/mask.ts'
import type { RecordedDifference } from './messages.ts'
import type { ShadowEvent } from './shadow.ts'

const LINES_PER_SECOND = 10

/** `masks` are those in force: the log must not contain fields that decision records leave out. */
export function createShadowReport(log: Logger, registry: Registry, masks: () => Masks): (event: ShadowEvent) => void {
  const count = metricsIn(registry)
  const logDifference = limited(log, masks)
  return (event) => {
    switch (event.kind) {
      case 'ready':
        count.refused.set(0)
        log.info({ candidate: event.revision }, 'requests are compared with the policy candidate')
        return
      case 'refused':
        count.refused.set(1)
        log.error({ reason: event.message }, 'policy candidate refused; requests are decided as before')
        return
      case 'compared':
        count.compared.inc(event.compared)
        count.uncompared.inc({ reason: 'undecidable' }, event.undecidable)
        count.uncompared.inc({ reason: 'unready' }, event.unready)
        count.uncompared.inc({ reason: 'fault' }, event.faults)
        for (const one of event.differences) {
          count.differences.inc({ change: one.difference.change })
          logDifference(one)
        }
        return
      case 'dropped':
        count.uncompared.inc({ reason: 'dropped' })
        return
      case 'stopped':
        count.refused.set(1)
        log.error(
          { err: event.cause },
          'the policy candidate is no longer compared; start the server again to compare it',
        )
    }
  }
}

/** At most so many lines a second; the next line says how many were left out. */
function limited(log: Logger, masks: () => Masks): (one: RecordedDifference) => void {
  let second = 0
  let lines = 0
  let leftOut = 0
  return ({ difference, record }) => {
    const now = Math.floor(performance.now() / 1000)
    if (now !== second) lines = 0
    second = now
    if (lines >= LINES_PER_SECOND) {
      leftOut += 1
      return
    }
    lines += 1
    const { requestId, revision, method, route, action, objectId, subject, roles, relations, rules } = mask(
      record,
      masks(),
    )
    const asked = { requestId, revision, method, route, action, objectId, subject, roles, relations, rules }
    const { lines: candidateLines, ...shown } = difference
    const candidateRules = candidateLines.map(rulePlace)
    log.warn({ ...asked, ...shown, candidateRules, ...(leftOut > 0 ? { leftOut } : {}) }, 'policy shadow difference')
    leftOut = 0
  }
}

function metricsIn(registry: Registry) {
  const registers = [registry]
  const differences = new Counter({
    name: 'sallyport_shadow_differences_total',
    help: 'Requests that the candidate policy would have decided otherwise',
    labelNames: ['change'],
    registers,
  })
  const uncompared = new Counter({
    name: 'sallyport_shadow_uncompared_total',
    help: 'Requests that were not decided under the candidate policy, by reason',
    labelNames: ['reason'],
    registers,
  })
  for (const change of CHANGES) differences.inc({ change }, 0)
  for (const reason of ['undecidable', 'unready', 'fault', 'dropped']) uncompared.inc({ reason }, 0)
  return {
    differences,
    uncompared,
    compared: new Counter({
      name: 'sallyport_shadow_compared_total',
      help: 'Requests that were also decided under the candidate policy',
      registers,
    }),
    refused: new Gauge({
      name: 'sallyport_shadow_candidate_refused',
      aggregator: 'max',
      help: '1 while the files of the candidate policy are refused, or it is no longer compared',
      registers,
    }),
  }
}
