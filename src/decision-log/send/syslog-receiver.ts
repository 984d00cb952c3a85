/**
 * Sends records by syslog over TLS (RFC 5424 and 5425). Nothing answers there. So lines count as taken when the connection
 * has stayed whole for a while after them, and are sent again if it hasn't.
 */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { parseMembers } from '../decision-record.ts'
import { NotTaken, type RecordReceiver, type SendPlace } from './record-receiver.ts'

/** The collector must take the lines within this time. */
const LONGEST_MS = 10_000
/** Longer than a lost connection needs to show in a data centre. */
const SETTLES_IN_MS = 5000
const FLUSH_MS = 1000

/** Log audit (RFC 5424, table 1). */
const FACILITY = 13
const SEVERITIES: Readonly<Record<string, number>> = { allowed: 6, refused: 5, failed: 3 }
const NOTICE = 5

/** `instance`: the one that sends. */
export function syslogReceiver({ url, tls }: SendPlace, instance: string): RecordReceiver {
  let socket: TLSSocket | undefined
  let lost: Error | undefined
  const open = async (signal: AbortSignal) => {
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const opened = connect({ host, port: Number(url.port), servername: /^[\d.:]+$|:/.test(host) ? '' : host, ...tls })
    // Nothing is read, but only who reads hears of the end.
    opened.resume()
    socket = opened
    const lose = (error: Error) => {
      if (socket === opened) lost ??= error
    }
    opened.on('error', lose)
    opened.on('close', () => lose(new NotTaken('it closed the connection')))
    await once(opened, 'secureConnect', { signal }).catch((error) => {
      opened.destroy()
      throw lost ?? error
    })
    return opened
  }
  const close = () => {
    const closing = socket
    socket = undefined
    lost = undefined
    closing?.destroySoon()
    // A collector that takes nothing would hold what was written to it.
    setTimeout(() => closing?.destroy(), FLUSH_MS).unref()
  }
  return {
    settlesInMs: SETTLES_IN_MS,
    check() {
      if (lost) throw lost
    },
    async send(lines, stop) {
      // On a new connection, what was lost with the old one would count as taken.
      if (lost) throw lost
      const signal = AbortSignal.any([stop, AbortSignal.timeout(LONGEST_MS)])
      const opened = socket ?? (await open(signal))
      const written = opened.write(lines.map((line) => frame(message(line, instance))).join(''))
      if (!written) await once(opened, 'drain', { signal })
      return { refused: 0 }
    },
    close,
  }
}

/** RFC 5425, section 4.3: the length in bytes comes first. */
function frame(text: string): string {
  return `${Buffer.byteLength(text)} ${text}`
}

/** RFC 5424, section 6: header, no structured data, and the record. */
function message(line: string, instance: string): string {
  const { time, outcome } = parseMembers(line) ?? {}
  const priority = FACILITY * 8 + (SEVERITIES[String(outcome)] ?? NOTICE)
  return `<${priority}>1 ${typeof time === 'string' ? time : '-'} ${instance} sallyport - decision - ${line}`
}
