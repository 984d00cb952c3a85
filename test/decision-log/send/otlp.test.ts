/** Records as OTLP logs are what the code of OpenTelemetry itself would send. */
import { JsonLogsSerializer } from '@opentelemetry/otlp-transformer'
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { expect } from 'chai'
import { otlpLogs } from '../../../src/decision-log/send/http-receiver.ts'

const TIME = Date.parse('2026-11-29T10:00:00.123Z')
const RECORD = { outcome: 'refused', method: 'GET', route: '/api/orders/{id}', revision: 'abc', problem: 'forbidden' }
const LINE = JSON.stringify({ record: 'decision', time: new Date(TIME).toISOString(), status: 403, ...RECORD })

/** What an SDK leaves out where it is nothing, and a number that JSON may write as a text (protobuf's JSON mapping). */
function plain(json: string): unknown {
  return JSON.parse(json, (name, value) => {
    if (name === 'droppedAttributesCount') return undefined
    return name === 'intValue' ? String(value) : value
  })
}

function bySdk(severityText: string): unknown {
  const exporter = new InMemoryLogRecordExporter()
  const provider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] })
  provider.getLogger('sallyport.decisions').emit({
    timestamp: TIME,
    observedTimestamp: TIME,
    severityNumber: 13,
    severityText,
    eventName: 'sallyport.decision',
    body: LINE,
    attributes: {
      'http.request.method': RECORD.method,
      'http.route': RECORD.route,
      'sallyport.outcome': RECORD.outcome,
      'sallyport.policy.revision': RECORD.revision,
      'sallyport.problem': RECORD.problem,
      'http.response.status_code': 403,
    },
  })
  const written = JsonLogsSerializer.serializeRequest(exporter.getFinishedLogRecords())
  return scopesOf(plain(Buffer.from(written ?? []).toString()))
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON of either program
function scopesOf(sent: any): unknown {
  expect(sent.resourceLogs).to.have.length(1)
  return sent.resourceLogs[0].scopeLogs
}

describe('a record as an OTLP log', () => {
  const own = scopesOf(plain(otlpLogs('north-1').body([LINE])))

  it('has the form, the names and the values that the SDK of OpenTelemetry writes', () => {
    expect(own).to.deep.equal(bySdk('WARN'))
  })

  it('would differ in a single text', () => {
    expect(own).not.to.deep.equal(bySdk('WARNING'))
  })
})
