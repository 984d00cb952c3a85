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
}

export function witnessLog({ file, place, keepsTree, log, registry }: WitnessedLog): { close(): Promise<void> } {
  const witness = place.url.origin
  const newest = new Gauge({
    name: 'sallyport_decisions_witnessed_timestamp_seconds',
    help: 'When the witness of LOG_WITNESS has signed the newest checkpoint of the decision log; 0 before the first one',
    registers: [registry],
  })
  let isFailing = false
  return startWitness({
    file,
    place,
    keepsTree,
    report: (event: WitnessEvent) => {
      if (event.kind === 'shows') {
        log.info({ witness, key: event.key }, 'the decision log is shown to a witness, which must know this key')
        return
      }
      const wasFailing = isFailing
      isFailing = event.kind === 'failing'
      if (event.kind === 'witnessed') {
        newest.set(Date.now() / 1000)
        if (wasFailing) log.warn({ witness }, 'the witness signs the decision log again')
      } else if (!wasFailing) {
        log.error({ witness, reason: remoteReason(event.error) }, 'the witness does not sign the decision log')
      }
    },
  })
}
