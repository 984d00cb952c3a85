/** Sends the records of the decision log to the system that DECISION_LOG_SEND names, and reports how that goes. */
import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import { parseRecord } from '../../decision-log/decision-record.ts'
import { httpReceiver, LINES, otlpLogs } from '../../decision-log/send/http-receiver.ts'
import { type LogSender, type LogSenderEvent, startLogSender } from '../../decision-log/send/log-sender.ts'
import type { RecordReceiver, SendPlace } from '../../decision-log/send/record-receiver.ts'
import { syslogReceiver } from '../../decision-log/send/syslog-receiver.ts'
import { remoteReason } from './remote-reason.ts'

export interface SentLog {
  readonly file: string
  readonly place: SendPlace
  readonly instance: string
  readonly log: Logger
  readonly registry: Registry
}

export function sendLog({ file, place, instance, log, registry }: SentLog): LogSender {
  const { origin, host, protocol } = place.url
  const to = protocol === 'tls:' ? `syslog+tls://${host}` : origin
  if (protocol === 'http:') log.warn({ to }, 'decision records are sent without TLS')
  const registers = [registry]
  const sent = new Counter({
    name: 'sallyport_decisions_sent_total',
    help: 'Decision records that the system of DECISION_LOG_SEND has taken',
    registers,
  })
  const refused = new Counter({
    name: 'sallyport_decisions_send_refused_total',
    help: 'Decision records that the system of DECISION_LOG_SEND has refused for good',
    registers,
  })
  const gaps = new Counter({
    name: 'sallyport_decisions_send_gaps_total',
    help: 'How often the log had deleted files, or somebody had moved them, before all records were known to be sent',
    registers,
  })
  const sender = startLogSender({
    file,
    receiver: receiverOf(place, instance),
    report: (event) => {
      if (event.kind === 'sent') {
        sent.inc(event.records)
        refused.inc(event.refused)
      }
      if (event.kind === 'gap') gaps.inc()
      tell(log, to, event)
    },
  })
  new Gauge({
    name: 'sallyport_decisions_send_lag_seconds',
    help: 'Age of the oldest decision record that waits to be sent; 0 if none does',
    registers,
    collect() {
      const since = sender.waitingSince
      this.set(since === undefined ? 0 : Math.max(0, Date.now() - since) / 1000)
    },
  })
  return sender
}

function receiverOf(place: SendPlace, instance: string): RecordReceiver {
  switch (place.kind) {
    case 'lines':
      return httpReceiver(place, LINES)
    case 'otlp':
      return httpReceiver(place, otlpLogs(instance))
    case 'syslog':
      return syslogReceiver(place, instance)
  }
}

function tell(log: Logger, to: string, event: LogSenderEvent): void {
  switch (event.kind) {
    case 'sent':
      return
    case 'failing':
      log.error({ to, reason: remoteReason(event.error) }, "decision records can't be sent; they wait in the log")
      return
    case 'working':
      log.warn({ to }, 'decision records are sent again')
      return
    case 'refused': {
      const { requestId } = parseRecord(event.line) ?? {}
      log.error({ to, requestId, reason: event.why }, 'a decision record is refused by the system that it was sent to')
      return
    }
    case 'unkept':
      log.error(
        { err: event.error },
        'it can not be kept which decision records were sent: after a new start they are sent again',
      )
      return
    case 'gap':
      log.error(
        { to },
        'the last record that was sent is not in the log any more: sending goes on with the oldest one, and some between may be missing there',
      )
  }
}
