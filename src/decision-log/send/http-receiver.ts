/** Sends records by HTTP: as lines of JSON (NDJSON), or as OTLP logs. */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { isObject } from '../../base/is-object.ts'
import { parseMembers } from '../decision-record.ts'
import { BatchRefused, NotTaken, type RecordReceiver, type SendPlace } from './record-receiver.ts'

interface HttpForm {
  readonly type: string
  readonly body: (lines: readonly string[]) => string
  /** By an answer with a status of 2xx. */
  readonly refused: (answer: string) => number
}

/** From the first byte to the whole answer. */
const LONGEST_MS = 10_000
const LONGEST_ANSWER = 64 * 1024
const LONGEST_WAIT_MS = 300_000

/** These say that the same batch will never be taken. */
const FOR_GOOD: ReadonlySet<number> = new Set([400, 413, 415, 422])

export function httpReceiver({ url, headers, tls }: SendPlace, form: HttpForm): RecordReceiver {
  const agent =
    url.protocol === 'https:' ? new HttpsAgent({ keepAlive: true, ...tls }) : new HttpAgent({ keepAlive: true })
  const post = (body: string, signal: AbortSignal) => {
    return new Promise<IncomingMessage>((resolve, reject) => {
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
        method: 'POST',
        agent,
        headers: { ...headers, 'content-type': form.type, 'content-length': Buffer.byteLength(body) },
        signal: AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]),
      })
      request.once('response', resolve).once('error', reject)
      request.end(body)
    })
  }
  return {
    settlesInMs: 0,
    check: () => undefined,
    async send(lines, signal) {
      const answer = await post(form.body(lines), signal)
      const text = await textOf(answer)
      const status = answer.statusCode ?? 0
      if (status >= 200 && status < 300) return { refused: Math.min(form.refused(text), lines.length) }
      if (FOR_GOOD.has(status)) throw new BatchRefused(`it answers ${status}`)
      throw new NotTaken(`it answers ${status}`, waitOf(answer.headers['retry-after']))
    },
    close: () => agent.destroy(),
  }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) {
    // Read on to the end: the connection is used again.
    if (text.length < LONGEST_ANSWER) text += chunk
  }
  return text
}

/** Seconds, or a date (RFC 9110, section 10.2.3). */
function waitOf(after: string | undefined): number {
  if (after === undefined) return 0
  const wait = /^\d+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now()
  return Number.isNaN(wait) ? 0 : Math.min(Math.max(wait, 0), LONGEST_WAIT_MS)
}

export const LINES: HttpForm = {
  type: 'application/x-ndjson',
  body: (lines) => lines.map((line) => `${line}\n`).join(''),
  refused: () => 0,
}

/** https://opentelemetry.io/docs/specs/otlp/#otlphttp, JSON. `instance`: the one that sends. */
export function otlpLogs(instance: string): HttpForm {
  const resource = {
    attributes: [attribute('service.name', 'sallyport'), attribute('service.instance.id', instance)],
  }
  return {
    type: 'application/json',
    body: (lines) => {
      const logRecords = lines.map(logRecord)
      const scopeLogs = [{ scope: { name: 'sallyport.decisions' }, logRecords }]
      return JSON.stringify({ resourceLogs: [{ resource, scopeLogs }] })
    },
    refused: (answer) => {
      const success = parseMembers(answer)?.partialSuccess
      return isObject(success) ? Number(success.rejectedLogRecords ?? 0) || 0 : 0
    },
  }
}

/** https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber */
const SEVERITIES: Readonly<Record<string, { readonly severityNumber: number; readonly severityText: string }>> = {
  allowed: { severityNumber: 9, severityText: 'INFO' },
  refused: { severityNumber: 13, severityText: 'WARN' },
  failed: { severityNumber: 17, severityText: 'ERROR' },
}

/** The whole line is the body, so that nothing of it is lost; the attributes are for searches. */
function logRecord(line: string): object {
  const { time, outcome, method, route, status, revision, problem, traceId } = parseMembers(line) ?? {}
  const texts = Object.entries({
    'http.request.method': method,
    'http.route': route,
    'sallyport.outcome': outcome,
    'sallyport.policy.revision': revision,
    'sallyport.problem': problem,
  }).flatMap(([name, value]) => (typeof value === 'string' ? [attribute(name, value)] : []))
  const code = { key: 'http.response.status_code', value: { intValue: String(status) } }
  const nanoseconds = BigInt(Date.parse(String(time)) || Date.now()) * 1_000_000n
  return {
    timeUnixNano: String(nanoseconds),
    observedTimeUnixNano: String(nanoseconds),
    ...SEVERITIES[String(outcome)],
    eventName: 'sallyport.decision',
    body: { stringValue: line },
    attributes: Number.isInteger(status) ? [...texts, code] : texts,
    ...(typeof traceId === 'string' && { traceId }),
  }
}

function attribute(key: string, value: string): object {
  return { key, value: { stringValue: value } }
}
