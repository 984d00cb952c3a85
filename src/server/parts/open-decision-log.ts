/** Opens the decision log that the configuration names, and starts the candidate policy that sees its records. */
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Config } from '../../config/config.ts'
import { decisionLogFault } from '../../config/start/start-faults.ts'
import { type DecisionLog, type DecisionLogEvent, openDecisionLog } from '../../decision-log/decision-log.ts'
import { LogFile, type LogFileOptions } from '../../decision-log/log-file.ts'
import { LogShares } from '../../decision-log/log-shares.ts'
import { bestEffortRecorder, observedRecorder, type Recorder, requiredRecorder } from '../../decision-log/recorder.ts'
import { createStandardOutput } from '../../decision-log/sink.ts'
import { type LogTreeEvent, startLogTree } from '../../decision-log/tree/log-tree.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { Outbox } from '../../store/contract.ts'
import { cosignLogs } from '../observe/cosigned-log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { logRecords } from '../observe/server-records.ts'
import type { Shadow } from '../shadow/shadow.ts'

/** Throws ConfigError. */
export async function openLog(
  config: Config,
  { outbox, log, now, metrics, registry, revision }: LogParts,
  /** Replaces a decision log of this process. */
  elsewhere?: (report: (event: DecisionLogEvent) => void) => DecisionLog,
): Promise<DecisionLog> {
  const { decisionLog, instance } = config
  const { file, maxBytes, keep, send, witness } = decisionLog
  const report = reportToLog(log, metrics)
  if (elsewhere) return elsewhere(report)
  const records = logRecords(config, { now, revision })
  if (file === undefined) return openDecisionLog({ sink: createStandardOutput(), outbox, records }, report)
  const sink = openLogFile({ file, maxBytes, keep })
  const tree = startLogTree({ file, keep, instance, now, database: outbox, report: (event) => tellTree(log, event) })
  const sender =
    send && (await import('../observe/send-log.ts')).sendLog({ file, place: send, instance, log, registry })
  const keepsTree = () => tree.isKept
  const cosigner = cosignLogs({ file, database: outbox, keepsTree, now, log, registry })
  const shown =
    witness &&
    (await import('../observe/witness-log.ts')).witnessLog({ file, place: witness, keepsTree, log, registry })
  // They see what the tree has signed last.
  const readers = [tree, cosigner, ...(shown ? [shown] : []), ...(sender ? [sender] : [])]
  return openDecisionLog({ sink, outbox, records, readers }, report)
}

interface LogParts {
  readonly outbox: Outbox
  readonly log: Logger
  readonly now: () => Date
  readonly metrics?: Pick<Metrics, 'decisionLost'>
  /** Has the metrics of the records that are sent. */
  readonly registry: Registry
  /** Of the policy in force. */
  readonly revision: () => string
}

function tellTree(log: Logger, event: LogTreeEvent): void {
  if (event.kind === 'signs') log.info({ key: event.key }, 'the decision log is signed by this key')
  if (event.kind === 'failing') log.error({ err: event.error }, "the decision log can't be signed")
  if (event.kind === 'working') log.warn('the decision log is signed again')
}

function reportToLog(log: Logger, metrics?: Pick<Metrics, 'decisionLost'>): (event: DecisionLogEvent) => void {
  return (event) => {
    if (event.kind === 'lost') metrics?.decisionLost()
    if (event.kind === 'failing') log.error({ err: event.error }, "the decision log can't be written")
    if (event.kind === 'working') log.warn({ lost: event.lost }, 'the decision log is written again')
  }
}

function openLogFile(options: LogFileOptions): LogFile {
  try {
    return new LogFile(options)
  } catch (error) {
    throw decisionLogFault(options.file, error)
  }
}

/**
 * The policy that POLICY_CANDIDATE names, compared with the one in force. Its modules are only loaded if there is one.
 */
export async function startCandidate(
  { policyCandidate, schemas }: Config,
  policy: Pick<LivePolicy, 'active'>,
  log: Logger,
  metrics: Metrics,
): Promise<Shadow | undefined> {
  if (policyCandidate === undefined) return undefined
  const { startShadow } = await import('../shadow/shadow.ts')
  const { createShadowReport: createTeller } = await import('../shadow/report.ts')
  const masks = () => policy.active.snapshot.masks
  return startShadow({ directory: policyCandidate, schemas }, createTeller(log, metrics.registry, masks))
}

/**
 * One caller may fill a third of the files within a day, because its address may fill as much without credentials;
 * nothing deletes what goes to standard output.
 */
export function logSharesOf({ decisionLog: { file, maxBytes, keep }, workers }: Config, log: Logger): LogShares {
  const share = file === undefined ? Number.POSITIVE_INFINITY : Math.floor((maxBytes * (keep + 1)) / 3 / workers)
  return new LogShares({
    share,
    report: () => {
      log.warn(
        { share },
        'a caller has written its share of the decision log for a day and gets 429: if that is its usual work, raise DECISION_LOG_MAX or DECISION_LOG_KEEP',
      )
    },
  })
}

export function recorderOf(
  config: Config,
  decisionLog: DecisionLog,
  shares: LogShares,
  shadow: Shadow | undefined,
): Recorder {
  const recorder = (config.decisionLog.required ? requiredRecorder : bestEffortRecorder)(decisionLog, shares)
  return shadow ? observedRecorder(recorder, (record) => shadow.observe(record)) : recorder
}
