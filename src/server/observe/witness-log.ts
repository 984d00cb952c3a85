/** Shows the checkpoints of the decision log to the witness of LOG_WITNESS, and reports how that goes. */
import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import { startWitness, type WitnessEvent, type WitnessPlace } from '../../decision-log/tree/witness.ts'
import { remoteReason } from './remote-reason.ts'

interface WitnessedLog {
  readonly file: string
  readonly place: WitnessPlace
  readonly keepsTree: () => boolean
  readonly log: Logger
  readonly registry: Registry
  readonly everyMs?: number
}

export function witnessLog({ place, log, registry, ...options }: WitnessedLog): { close(): Promise<void> } {
  const witness = place.url.origin
  const newest = new Gauge({
    name: 'sallyport_decisions_witnessed_timestamp_seconds',
    help: 'When the witness of LOG_WITNESS has signed the newest checkpoint of the decision log; 0 before the first one',
    registers: [registry],
  })
  let failure: string | undefined
  return startWitness({
    ...options,
    place,
    report: (event: WitnessEvent) => {
      if (event.kind === 'shows') {
        log.info({ witness, key: event.key }, 'the decision log is shown to a witness, which must know this key')
        return
      }
      const before = failure
      failure = event.kind === 'failing' ? kindOf(event.error) : undefined
      if (event.kind === 'witnessed') {
        newest.set(Date.now() / 1000)
        if (before !== undefined) log.warn({ witness }, 'the witness signs the decision log again')
      } else if (failure !== before) {
        log.error({ witness, reason: remoteReason(event.error) }, 'the witness does not sign the decision log')
      }
    },
  })
}

/** A witness that is away must not hide that the log was cut. */
function kindOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown }
  return String(code ?? name)
}
