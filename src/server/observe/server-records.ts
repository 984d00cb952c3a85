/**
 * Records of the server itself, with the method SERVER: it starts, takes another policy, has lost records, or stops. If no
 * stop stands between two starts of one instance, the earlier process was killed.
 */
import { randomUUID } from 'node:crypto'
import { CATALOGUE, type ProblemCode } from '../../base/problems/catalogue.ts'
import type { Config } from '../../config/config.ts'
import type { LogRecords } from '../../decision-log/decision-log.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { recordLine } from '../../decision-log/record-line.ts'
import { PROGRAM } from '../../present/program.ts'

interface InForce {
  readonly now: () => Date
  /** Of the policy in force. */
  readonly revision: () => string
}

export function logRecords({ instance, settings }: Config, { now, revision }: InForce): LogRecords {
  const about = () => ({ instance, now: now(), revision: revision() })
  return {
    start: () => serverLine(about(), { action: 'start', version: PROGRAM.version, settings }),
    stop: () => serverLine(about(), { action: 'stop' }),
    lost: (lost) => serverLine(about(), { action: 'lost', outcome: 'failed', status: 503, lost }),
  }
}

/** The record of a policy that took over. */
export function policyLine(
  about: Pick<ServerMoment, 'instance' | 'now'>,
  { revision, previous }: { readonly revision: string; readonly previous: string },
): string {
  return serverLine({ ...about, revision }, { action: 'policy', previous })
}

/** The record of events that a receiver has taken, or of one that was given up. */
export function deliveryLine(
  about: ServerMoment,
  {
    isTaken,
    ...members
  }: Pick<DecisionRecord, 'resource' | 'credential' | 'delivered'> & { readonly isTaken: boolean },
): string {
  return serverLine(about, { action: 'deliver', ...members, ...(isTaken ? {} : { outcome: 'failed', status: 502 }) })
}

/** The record of a stream of events that has ended. Who had it is in the record of its request. */
export function streamEndLine(
  about: ServerMoment,
  {
    problem,
    ...members
  }: Pick<DecisionRecord, 'requestId' | 'route' | 'resource' | 'reason' | 'followed'> & {
    readonly problem?: ProblemCode | undefined
  },
): string {
  const status = problem === undefined ? 200 : CATALOGUE[problem].status
  const outcome = status < 400 ? 'allowed' : status < 500 ? 'refused' : 'failed'
  return serverLine(about, { action: 'watch', ...members, problem, outcome, status })
}

interface ServerMoment extends Pick<DecisionRecord, 'instance' | 'revision'> {
  readonly now: Date
}

function serverLine({ now, ...rest }: ServerMoment, members: Partial<DecisionRecord>): string {
  return recordLine({
    time: now.toISOString(),
    requestId: randomUUID(),
    ...rest,
    method: 'SERVER',
    outcome: 'allowed',
    status: 200,
    microseconds: 0,
    ...members,
  })
}
