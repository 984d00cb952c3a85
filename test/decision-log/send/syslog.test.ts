/** Records by syslog over TLS: framed as RFC 5425 says, sent again after a lost connection, and taken by a real rsyslog. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { appendFile, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type TLSSocket } from 'node:tls'
import { expect } from 'chai'
import { readSendPlace } from '../../../src/config/send-place.ts'
import { type LogSender, type LogSenderEvent, startLogSender } from '../../../src/decision-log/send/log-sender.ts'
import type { RecordReceiver } from '../../../src/decision-log/send/record-receiver.ts'
import { syslogReceiver } from '../../../src/decision-log/send/syslog-receiver.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { program } from '../../programs.ts'
import { freePort } from '../../redis.ts'
import { until } from '../../until.ts'
import { makeCertificate } from './collectors.ts'

describe('a log that is sent by syslog', () => {
  let folder: string
  let log: string
  let written: number
  let events: LogSenderEvent[]
  let sender: LogSender | undefined

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    makeCertificate(folder)
  })
  after(() => removeFolder(folder))
  beforeEach(async () => {
    log = join(await mkdtemp(join(folder, 'log-')), 'decisions.log')
    written = 0
    events = []
  })
  afterEach(() => sender?.close())

  it('has frames with their length in bytes, and a header that says what, when and from where', async () => {
    const collector = await startSyslogCollector(folder)
    await writeFile(
      log,
      `${JSON.stringify({ record: 'decision', time: '2026-11-29T10:00:00.000Z', outcome: 'refused', name: 'Zoë 世' })}\n`,
    )
    start(collector.port)
    await until(() => collector.frames.length === 1)
    expect(collector.frames[0]).to.equal(
      '<109>1 2026-11-29T10:00:00.000Z north-1 sallyport - decision - {"record":"decision","time":"2026-11-29T10:00:00.000Z","outcome":"refused","name":"Zoë 世"}',
    )
    await collector.stop()
  })

  it('sends again what may be lost with a connection, and counts nothing as sent before', async () => {
    const collector = await startSyslogCollector(folder)
    await writeFile(log, lines(10))
    start(collector.port)
    await until(() => collector.frames.length === 10)
    collector.cut()
    await until(() => collector.frames.length >= 20)
    expect(numbersIn(collector.frames.slice(10))).to.deep.equal(Array.from({ length: 10 }, (_, i) => i))
    expect(events.filter(({ kind }) => kind === 'failing').length).to.equal(1)
    await appendFile(log, lines(5))
    await until(() => numbersIn(collector.frames).at(-1) === 14)
    await collector.stop()
  })

  it('takes no more lines after a connection was lost, so that none before them counts as taken', async () => {
    const collector = await startSyslogCollector(folder)
    const receiver = receiverAt(collector.port)
    const { signal } = new AbortController()
    await receiver.send(['{}'], signal)
    await until(() => collector.frames.length === 1)
    collector.cut()
    await until(() => isLost(receiver))
    const refusal = await receiver.send(['{}'], signal).catch((error: unknown) => error)
    expect(refusal).to.be.instanceOf(Error)
    receiver.close()
    await receiver.send(['{}'], signal)
    receiver.close()
    await collector.stop()
  })

  it('keeps its cursor once a connection stayed whole after it', async () => {
    const collector = await startSyslogCollector(folder)
    await writeFile(log, lines(10))
    start(collector.port, 50)
    await until(() =>
      readFile(`${log}.sent/cursor`).then(
        (found) => found.length > 0,
        () => false,
      ),
    )
    await sender?.close()
    start(collector.port, 50)
    await appendFile(log, lines(1))
    await until(() => numbersIn(collector.frames).at(-1) === 10)
    expect(collector.frames.length).to.equal(11)
    await collector.stop()
  })

  it('waits for a collector that takes nothing, with bounded memory, and says so', async () => {
    const collector = await startSyslogCollector(folder)
    collector.isPaused = true
    await writeFile(log, lines(20_000, 'x'.repeat(2000)))
    start(collector.port)
    await until(() => events.some(({ kind }) => kind === 'failing'))
    collector.isPaused = false
    await until(() => new Set(numbersIn(collector.frames)).size === 20_000)
    await collector.stop()
  })

  it('arrives in the files of a real rsyslog, also of one that was stopped meanwhile', async () => {
    const port = await freePort()
    const rsyslog = await startRsyslog(folder, port)
    await writeFile(log, lines(100))
    start(port)
    await until(async () => new Set(await rsyslog.numbers()).size === 100)
    await rsyslog.stop()
    await appendFile(log, lines(50))
    await until(() => events.some(({ kind }) => kind === 'failing'))
    await rsyslog.start()
    await until(async () => new Set(await rsyslog.numbers()).size === 150)
    await rsyslog.stop()
  })

  function receiverAt(port: number): RecordReceiver {
    const place = readSendPlace({
      DECISION_LOG_SEND: `syslog+tls://127.0.0.1:${port}`,
      DECISION_LOG_SEND_CA: join(folder, 'crt.pem'),
    })
    if (!place) throw new Error('no place')
    return syslogReceiver(place, 'north-1')
  }

  function start(port: number, settlesInMs?: number): void {
    const receiver = receiverAt(port)
    sender = startLogSender({
      file: log,
      receiver: settlesInMs === undefined ? receiver : { ...receiver, settlesInMs },
      report: (event) => events.push(event),
    })
  }

  function lines(count: number, text = ''): string {
    return Array.from({ length: count }, () => {
      written += 1
      return `${JSON.stringify({ record: 'decision', time: '2026-11-29T10:00:00.000Z', number: written - 1, text })}\n`
    }).join('')
  }
})

function isLost(receiver: RecordReceiver): boolean {
  try {
    receiver.check()
    return false
  } catch {
    return true
  }
}

function numbersIn(frames: readonly string[]): readonly number[] {
  return frames.map((frame) => Number(/"number":(?<number>\d+)/.exec(frame)?.groups?.number))
}

interface SyslogCollector {
  readonly port: number
  readonly frames: string[]
  isPaused: boolean
  /** Ends all connections. */
  cut(): void
  stop(): Promise<void>
}

async function startSyslogCollector(folder: string): Promise<SyslogCollector> {
  const sockets = new Set<TLSSocket>()
  const pem = (name: string) => readFileSync(join(folder, name))
  const server = createServer({ cert: pem('crt.pem'), key: pem('key.pem') }, (socket) => {
    sockets.add(socket)
    let rest = Buffer.alloc(0)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    const read = () => {
      if (collector.isPaused) {
        setTimeout(read, 50)
        return
      }
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) rest = Buffer.concat([rest, chunk])
      rest = takeFrames(rest, collector.frames)
    }
    socket.on('readable', read)
  })
  const collector: SyslogCollector = {
    port: 0,
    frames: [],
    isPaused: false,
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    async stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(collector, { port: (server.address() as AddressInfo).port })
}

function takeFrames(bytes: Buffer<ArrayBuffer>, frames: string[]): Buffer<ArrayBuffer> {
  let at = 0
  for (;;) {
    const space = bytes.indexOf(0x20, at)
    const length = Number(bytes.subarray(at, Math.max(space, at)).toString())
    if (space < 0 || bytes.length < space + 1 + length) return bytes.subarray(at)
    frames.push(bytes.subarray(space + 1, space + 1 + length).toString())
    at = space + 1 + length
  }
}

async function startRsyslog(folder: string, port: number) {
  const place = await mkdtemp(join(folder, 'rsyslog-'))
  const file = join(place, 'records')
  await writeFile(
    join(place, 'rsyslog.conf'),
    `global(workDirectory="${place}" maxMessageSize="64k" defaultNetstreamDriver="gtls"
  defaultNetstreamDriverCAFile="${folder}/crt.pem"
  defaultNetstreamDriverCertFile="${folder}/crt.pem" defaultNetstreamDriverKeyFile="${folder}/key.pem")
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="anon")
input(type="imtcp" port="${port}" address="127.0.0.1")
template(name="line" type="string" string="%msg%\\n")
action(type="omfile" file="${file}" template="line")
`,
  )
  let child = run()
  function run() {
    return spawn(program('rsyslogd'), ['-n', '-f', join(place, 'rsyslog.conf'), '-i', join(place, 'pid')], {
      stdio: 'ignore',
    })
  }
  return {
    async start() {
      child = run()
    },
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
    async numbers() {
      const text = await readFile(file, 'utf8').catch(() => '')
      return numbersIn(text.split('\n').filter((line) => line.includes('"number"')))
    },
  }
}
