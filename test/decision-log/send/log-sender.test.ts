/** A log that is sent to another system: each record at least once and in order, whatever happens to either side. */
import { appendFile, mkdir, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { readSendPlace } from '../../../src/config/send-place.ts'
import { LogFile } from '../../../src/decision-log/log-file.ts'
import { httpReceiver, LINES, otlpLogs } from '../../../src/decision-log/send/http-receiver.ts'
import { type LogSender, type LogSenderEvent, startLogSender } from '../../../src/decision-log/send/log-sender.ts'
import { BatchRefused, type RecordReceiver } from '../../../src/decision-log/send/record-receiver.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { runs } from '../../runs.ts'
import { until } from '../../until.ts'
import { type HttpCollector, makeCertificate, startHttpCollector } from './collectors.ts'

describe('a log that is sent to another system', () => {
  let folder: string
  let log: string
  let collector: HttpCollector
  let events: LogSenderEvent[]
  let senders: LogSender[]
  let written: number

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    makeCertificate(folder)
  })
  after(() => removeFolder(folder))
  beforeEach(async () => {
    const place = await mkdtemp(join(folder, 'log-'))
    log = join(place, 'decisions.log')
    collector = await startHttpCollector(folder)
    events = []
    senders = []
    written = 0
  })
  afterEach(async () => {
    await Promise.all(senders.map((sender) => sender.close()))
    await collector.stop()
  })

  it('gets there whole and in order, with what was written before and while it runs', async () => {
    await writeFile(log, lines(700))
    const sender = start()
    await until(() => numbers().length === 700)
    await appendFile(log, lines(10))
    await until(() => numbers().length === 710)
    expect(numbers()).to.deep.equal(Array.from({ length: 710 }, (_, i) => i))
    await until(() => sender.waitingSince === undefined)
    expect(sum('records')).to.equal(710)
    const [first] = collector.taken
    expect(first?.headers).to.include({ 'content-type': 'application/x-ndjson', authorization: 'Bearer a,b' })
  })

  it('waits while the other system is away, says so once, and goes on where it was', async () => {
    await writeFile(log, lines(20))
    const sender = start()
    await until(() => numbers().length === 20)
    const { port } = collector
    await collector.stop()
    await appendFile(log, lines(20))
    await until(() => events.some(({ kind }) => kind === 'failing'))
    expect(sender.waitingSince).to.be.a('number')
    collector = await startHttpCollector(folder, port)
    await until(() => numbers().length === 20)
    expect(numbers()).to.deep.equal(Array.from({ length: 20 }, (_, i) => i + 20))
    await until(() => events.some(({ kind }) => kind === 'working'))
    expect(kinds('failing', 'working', 'gap')).to.deep.equal(['failing', 'working'])
  })

  it('goes on after its cursor when it is started again, and loses nothing that came meanwhile', async () => {
    await writeFile(log, lines(30))
    const first = start()
    await until(() => numbers().length === 30)
    await first.close()
    await appendFile(log, lines(5))
    await rename(log, `${log}.1`)
    await writeFile(log, lines(5))
    const second = start()
    await until(() => numbers().length >= 40)
    await second.close()
    expect(numbers()).to.deep.equal(Array.from({ length: 40 }, (_, i) => i))
    expect(kinds('failing', 'gap')).to.deep.equal([])
  })

  it('sends a batch again whose answer was lost', async () => {
    await writeFile(log, lines(3))
    let asked = 0
    const seen: string[] = []
    collector.answer = (body) => {
      seen.push(body)
      asked += 1
      return asked === 1 ? { status: 503, headers: { 'retry-after': '1' } } : undefined
    }
    start()
    await until(() => numbers().length === 3)
    expect(seen[0]).to.equal(seen[1])
  })

  it('leaves out only the records that are refused for good, and names each', async () => {
    await writeFile(log, lines(50))
    const isBad = (text: string) => /"number":(?:7|31)[,}]/.test(text)
    collector.answer = (body) => (isBad(body) ? { status: 400 } : undefined)
    start()
    await until(() => numbers().length === 48)
    expect(numbers()).to.deep.equal(Array.from({ length: 50 }, (_, i) => i).filter((i) => i !== 7 && i !== 31))
    const refused = events.flatMap((event) => (event.kind === 'refused' ? [JSON.parse(event.line).number] : []))
    expect(refused).to.deep.equal([7, 31])
    await until(() => sum('refused') === 2)
    expect(sum('records')).to.equal(48)
  })

  it('goes on with the oldest record that is left when the log deleted what it had not sent, and says so', async () => {
    const file = new LogFile({ file: log, maxBytes: 3000, keep: 2 })
    file.append(lines(1))
    const sender = start()
    await until(() => numbers().length === 1)
    await sender.close()
    for (let i = 0; i < 200; i++) file.append(lines(1))
    file.close()
    const left = (await Promise.all([`${log}.2`, `${log}.1`, log].map((name) => readFile(name, 'utf8')))).join('')
    start()
    const oldest = JSON.parse(left.slice(0, left.indexOf('\n'))).number
    await until(() => numbers().at(-1) === written - 1)
    expect(numbers()).to.deep.equal([0, ...Array.from({ length: written - oldest }, (_, i) => i + oldest)])
    expect(oldest).to.be.greaterThan(1)
    expect(kinds('gap')).to.deep.equal(['gap'])
  })

  it('loses no record of a log that rotates while the other system is away', async () => {
    const file = new LogFile({ file: log, maxBytes: 3000, keep: 1000 })
    file.append(lines(10))
    start()
    await until(() => numbers().length === 10)
    const { port } = collector
    await collector.stop()
    for (let i = 0; i < 100; i++) file.append(lines(1))
    await until(() => events.some(({ kind }) => kind === 'failing'))
    for (let i = 0; i < 100; i++) file.append(lines(1))
    collector = await startHttpCollector(folder, port)
    await until(() => numbers().at(-1) === written - 1)
    file.close()
    const seen = new Set(numbers())
    for (let i = 10; i < written; i++) expect(seen.has(i), `${i}`).to.equal(true)
    expect(kinds('gap')).to.deep.equal([])
  })

  it('keeps what it has read while the other system is away, also if its file is deleted meanwhile', async () => {
    await writeFile(log, lines(5))
    start()
    await until(() => numbers().length === 5)
    const { port } = collector
    await collector.stop()
    await appendFile(log, lines(5))
    await until(() => events.some(({ kind }) => kind === 'failing'))
    await removeFolder(log)
    await writeFile(log, lines(5))
    collector = await startHttpCollector(folder, port)
    await until(() => numbers().length >= 10)
    expect(numbers()).to.deep.equal(Array.from({ length: 10 }, (_, i) => i + 5))
  })

  it('goes on without a cursor where none can be written, says so once, and writes it later', async () => {
    await writeFile(log, lines(5))
    await mkdir(`${log}.sent/cursor/taken`, { recursive: true })
    const sender = start()
    await until(() => events.some(({ kind }) => kind === 'failing'))
    await sender.close()
    await removeFolder(`${log}.sent/cursor`)
    events.length = 0
    start()
    await until(() => numbers().length === 5)
    await removeFolder(`${log}.sent/cursor`)
    await mkdir(`${log}.sent/cursor`)
    await appendFile(log, lines(5))
    await until(() => numbers().length === 10)
    await appendFile(log, lines(5))
    await until(() => numbers().length === 15)
    expect(numbers()).to.deep.equal(Array.from({ length: 15 }, (_, i) => i))
    expect(kinds('unkept', 'failing')).to.deep.equal(['unkept'])
    await removeFolder(`${log}.sent/cursor`)
    await until(() =>
      readFile(`${log}.sent/cursor`, 'utf8').then(
        (text) => text.length > 0,
        () => false,
      ),
    )
  })

  it('is sent by one process at a time, and by the next one when that ends', async () => {
    await writeFile(log, lines(5))
    const first = start()
    await until(() => numbers().length === 5)
    start()
    await appendFile(log, lines(5))
    await until(() => numbers().length === 10)
    await first.close()
    await appendFile(log, lines(5))
    await until(() => numbers().length === 15)
    expect(numbers()).to.deep.equal(Array.from({ length: 15 }, (_, i) => i))
  })

  it('stops soon, however slow the other system is', async () => {
    await writeFile(log, lines(5))
    let isAsked = false
    collector.answer = () => {
      isAsked = true
      return 'never'
    }
    const sender = start()
    await until(() => isAsked)
    const begun = performance.now()
    await sender.close()
    expect(performance.now() - begun).to.be.below(60_000)
    collector.answer = () => undefined
    start()
    await until(() => numbers().length === 5)
  })

  it('reaches a receiver whole whatever fails, in random order', async () => {
    let failed = 0
    for (let run = 0; run < runs(20, 3); run++) {
      const place = join(await mkdtemp(join(folder, 'random-')), 'decisions.log')
      const receiver = new UnreliableReceiver()
      const file = new LogFile({ file: place, maxBytes: 20_000, keep: 1000 })
      const from = written
      let sender = startLogSender({ file: place, receiver, report: () => undefined })
      for (let i = 0; i < 30; i++) {
        file.append(lines(1 + (i % 7)))
        await sleep(i % 5)
        if (i % 10 === 9) {
          await sender.close()
          sender = startLogSender({ file: place, receiver, report: () => undefined })
        }
      }
      const all = Array.from({ length: written - from }, (_, i) => i + from)
      await until(() => all.every((number) => receiver.taken.has(number)))
      await sender.close()
      file.close()
      failed += receiver.failed
    }
    expect(failed).to.be.greaterThan(1)
  })

  it('tells OTLP what the record says: the time, the severity, the attributes, and the line itself', async () => {
    const record = { outcome: 'refused', status: 403, method: 'GET', route: '/api/orders/{id}', revision: 'abc' }
    const line = JSON.stringify({ record: 'decision', time: '2026-11-29T10:00:00.123Z', ...record })
    await writeFile(log, `${line}\nno record\n`)
    const place = readSendPlace(settings(`otlp+https://127.0.0.1:${collector.port}/base`))
    if (!place) throw new Error('no place')
    expect(place.url.pathname).to.equal('/base/v1/logs')
    collector.text = JSON.stringify({ partialSuccess: { rejectedLogRecords: '1', errorMessage: 'one is odd' } })
    startWith(httpReceiver(place, otlpLogs('north-1')))
    await until(() => collector.taken.length === 1)
    const [taken] = collector.taken
    expect(taken?.headers['content-type']).to.equal('application/json')
    const { resource, scopeLogs } = JSON.parse(taken?.body ?? '').resourceLogs[0]
    expect(valuesOf(resource.attributes)).to.deep.equal({
      'service.name': 'sallyport',
      'service.instance.id': 'north-1',
    })
    const [told, other] = scopeLogs[0].logRecords
    expect(told).to.include({
      timeUnixNano: '1795946400123000000',
      severityNumber: 13,
      severityText: 'WARN',
      eventName: 'sallyport.decision',
    })
    expect(told.body).to.deep.equal({ stringValue: line })
    expect(valuesOf(told.attributes)).to.deep.equal({
      'http.request.method': 'GET',
      'http.route': '/api/orders/{id}',
      'sallyport.outcome': 'refused',
      'sallyport.policy.revision': 'abc',
      'http.response.status_code': '403',
    })
    expect(other.body).to.deep.equal({ stringValue: 'no record' })
    await until(() => sum('refused') === 1)
  })

  it('is not sent to a system with another certificate', async () => {
    await writeFile(log, lines(1))
    const place = readSendPlace({ DECISION_LOG_SEND: `https://127.0.0.1:${collector.port}` })
    if (!place) throw new Error('no place')
    startWith(httpReceiver(place, LINES))
    await until(() => events.some(({ kind }) => kind === 'failing'))
    expect(collector.taken).to.deep.equal([])
  })

  it('is sent from the beginning where the cursor says nothing', async () => {
    await writeFile(log, lines(3))
    const first = start()
    await until(() => numbers().length === 3)
    await first.close()
    await writeFile(`${log}.sent/cursor`, 'damaged')
    const second = start()
    await until(() => numbers().length === 6)
    await second.close()
    expect(kinds('gap')).to.deep.equal(['gap'])
    await removeFolder(`${log}.sent`)
    start()
    await until(() => numbers().length === 9)
    expect(kinds('gap')).to.deep.equal(['gap'])
  })

  function settings(url: string): Record<string, string> {
    return {
      DECISION_LOG_SEND: url,
      DECISION_LOG_SEND_HEADERS: 'authorization=Bearer a%2Cb',
      DECISION_LOG_SEND_CA: join(folder, 'crt.pem'),
    }
  }

  function start(): LogSender {
    const place = readSendPlace(settings(`https://127.0.0.1:${collector.port}/in`))
    if (!place) throw new Error('no place')
    return startWith(httpReceiver(place, LINES))
  }

  function startWith(receiver: RecordReceiver): LogSender {
    const sender = startLogSender({ file: log, receiver, report: (event) => events.push(event) })
    senders.push(sender)
    return sender
  }

  function lines(count: number): string {
    return Array.from({ length: count }, () => {
      written += 1
      return `${JSON.stringify({ record: 'decision', time: '2026-11-29T10:00:00.000Z', number: written - 1 })}\n`
    }).join('')
  }

  function numbers(): readonly number[] {
    return collector.taken.flatMap(({ body }) => body.trimEnd().split('\n')).map((line) => JSON.parse(line).number)
  }

  function kinds(...among: readonly LogSenderEvent['kind'][]): readonly string[] {
    return events.map(({ kind }) => kind).filter((kind) => among.includes(kind))
  }

  function sum(of: 'records' | 'refused'): number {
    return events.reduce((all, event) => (event.kind === 'sent' ? all + event[of] : all), 0)
  }
})

function valuesOf(
  attributes: readonly { readonly key: string; readonly value: { stringValue?: string; intValue?: string } }[],
): Record<string, string | undefined> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))
}

/** Fails before or after it has taken lines, or refuses a batch that could be smaller. */
class UnreliableReceiver implements RecordReceiver {
  readonly settlesInMs = 0
  readonly taken = new Set<number>()
  failed = 0

  async send(lines: readonly string[]): Promise<{ readonly refused: number }> {
    const chance = Math.random()
    // A failure waits a second, so there are few.
    const isFailure = this.failed < 3 && chance < 0.4
    if (isFailure) this.failed += 1
    if (isFailure && chance < 0.2) throw new Error('it failed before')
    if (lines.length > 1 && chance > 0.8) throw new BatchRefused('too many')
    for (const line of lines) this.taken.add(JSON.parse(line).number)
    if (isFailure) throw new Error('it failed after')
    return { refused: 0 }
  }

  check(): void {}
  close(): void {}
}
