/** The decision logs of the instances of one database sign each other: reports one that isn't what it was. */
import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import { type CosignerEvent, type RefusedLog, startCosigner } from '../../decision-log/tree/cosigner.ts'
import type { LogCosignatures } from '../../store/contract.ts'
import { remoteReason } from './remote-reason.ts'

interface CosignedLog {
  readonly file: string
  readonly database: LogCosignatures
  readonly keepsTree: () => boolean
  readonly now: () => Date
  readonly log: Logger
  readonly registry: Registry
  readonly everyMs?: number
}

export function cosignLogs({ log, registry, ...options }: CosignedLog): { close(): Promise<void> } {
  const refusedLogs = new Gauge({
    name: 'sallyport_decisions_refused_logs',
    help: 'Decision logs of this database that this instance does not sign, because they are not what they were',
    registers: [registry],
  })
  const newest = new Gauge({
    name: 'sallyport_decisions_cosigned_records',
    help: 'The records of this decision log that another instance has signed; 0 before the first signature',
    registers: [registry],
  })
  let known: readonly RefusedLog[] = []
  let isFailing = false
  return startCosigner({
    ...options,
    report: (event: CosignerEvent) => {
      const wasFailing = isFailing
      isFailing = event.kind === 'failing'
      if (event.kind === 'failing') {
        if (!wasFailing) log.error({ reason: remoteReason(event.error) }, "the instances can't sign each other's logs")
        return
      }
      if (wasFailing) log.warn("the instances sign each other's logs again")
      logChanges(log, known, event.refused)
      known = event.refused
      refusedLogs.set(known.length)
      newest.set(event.cosigned)
    },
  })
}

/** Once for each log, not each minute. */
function logChanges(log: Logger, before: readonly RefusedLog[], now: readonly RefusedLog[]): void {
  const namesOf = (refused: readonly RefusedLog[]) => new Set(refused.map((one) => one.log))
  const [known, names] = [namesOf(before), namesOf(now)]
  for (const { log: decisionLog, why } of now) {
    if (!known.has(decisionLog)) log.error({ decisionLog, why }, 'a decision log is not what it was, and is not signed')
  }
  for (const decisionLog of known.difference(names)) log.warn({ decisionLog }, 'a decision log is no longer refused')
}
