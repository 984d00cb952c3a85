/** A witness of somebody else signs what the log goes on with, and nothing that was cut or written anew. */
import { once } from 'node:events'
import { appendFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { historyEntries, readNewest } from '../../../src/decision-log/tree/history.ts'
import { type LogTree, startLogTree } from '../../../src/decision-log/tree/log-tree.ts'
import { keptElsewhere, signedHistory } from '../../../src/decision-log/tree/signed-history.ts'
import { cosignedAt, readKeyText } from '../../../src/decision-log/tree/signed-note.ts'
import { removeTilesBefore } from '../../../src/decision-log/tree/tiles.ts'
import { readWitnessed, startWitness, type WitnessEvent } from '../../../src/decision-log/tree/witness.ts'
import { witnessLog } from '../../../src/server/observe/witness-log.ts'
import { sallyport } from '../../command.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { startTestServer } from '../../server.ts'
import { until } from '../../until.ts'
import { startTestWitness, type TestWitness, witnessKeyText } from './test-witness.ts'

describe('a log that a witness sees', () => {
  let folder: string
  let log: string
  let witness: TestWitness
  let now: Date

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    log = join(folder, 'decisions.log')
    await writeFile(log, '')
    witness = await startTestWitness()
    now = new Date()
  })
  afterEach(async () => {
    await witness.stop()
    await removeFolder(folder)
  })

  it('is signed by the witness as it grows, also after its own key has changed, and after a start', async () => {
    await grow(300)
    expect(await show()).to.deep.equal([{ kind: 'witnessed', size: 300 }])
    now = new Date(now.getTime() + 2 * 86_400_000)
    await grow(5)
    expect(await show()).to.deep.equal([{ kind: 'witnessed', size: 305 }])
    expect(witness.signed?.size).to.equal(305)
    const seen = await readWitnessed(`${log}.tree`, witness.key)
    expect(seen).to.include({ size: 305, root: witness.signed?.root })
    expect(Math.abs((seen?.time ?? 0) - Date.now() / 1000)).to.be.lessThan(60)
    // The same note is a copy that `decisions verify --checkpoint` takes.
    const history = signedHistory((await historyEntries(`${log}.tree`)) ?? [], await readNewest(`${log}.tree`))
    expect(history && keptElsewhere(seen?.note ?? '', history)).to.include({ size: 305 })
    expect(cosignedAt(seen?.note.replace('305', '306') ?? '', witness.key)).to.equal(undefined)
  })

  it('is shown from where the witness knows it, if the server has lost what was signed', async () => {
    await grow(10)
    await show()
    await rm(`${log}.tree/witnessed`)
    await grow(700)
    expect(await show()).to.deep.equal([{ kind: 'witnessed', size: 710 }])
  })

  it('is found out when it was cut with its tree, or written anew', async () => {
    await grow(10)
    await show()
    const older = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(`${log}.tree`, join(older, 'tree'), { recursive: true })
    const text = await readFile(log, 'utf8')
    await grow(20)
    await show()
    // As it was before, with its tree.
    await writeFile(log, text)
    await removeFolder(`${log}.tree`)
    await cp(join(older, 'tree'), `${log}.tree`, { recursive: true })
    await removeFolder(older)
    expect(told(await show())).to.equal(
      'the witness has signed 30 records, and the log has 10: it was cut, or is an older copy',
    )
    // Other records from there on: as many, and more.
    await grow(20, 'other')
    expect(told(await show())).to.contain('it was not signed')
    await grow(20, 'other')
    expect(told(await show())).to.contain('it was not signed')
    expect(witness.signed?.size).to.equal(30)
  })

  it('goes on when the witness is away, and is shown when it is back', async () => {
    await grow(10)
    witness.refuses = 503
    expect(told(await show())).to.contain('it was not signed')
    witness.refuses = undefined
    expect(await show()).to.deep.equal([{ kind: 'witnessed', size: 10 }])
    const { port } = witness.url
    await witness.stop()
    await grow(1)
    expect((await show()).map(({ kind }) => kind)).to.deep.equal(['failing'])
    expect(port).not.to.equal('')
  })

  it('is told of once for each fault, so that a witness that is away hides no cut', async () => {
    await grow(10)
    await show()
    const told: string[] = []
    const write = (line: string) => {
      const { level, msg, reason, key } = JSON.parse(line)
      if (key !== undefined) witness.finds = () => readKeyText(key)
      else told.push(`${level} ${msg}${reason ? `: ${reason}` : ''}`)
    }
    const logger = pino({ base: null, timestamp: false }, { write })
    const parts = { place: { url: witness.url, key: witness.key }, keepsTree: () => true, everyMs: 5 }
    witness.refuses = 503
    const shown = witnessLog({ ...parts, file: log, log: logger, registry: new Registry() })
    await until(() => told.length === 1)
    const signed = witness.signed
    witness.signed = { origin: '', root: '', ...signed, size: 99 }
    witness.refuses = undefined
    await until(() => told.length === 2)
    witness.signed = signed
    await until(() => told.length === 3)
    await shown.close()
    expect(told).to.deep.equal([
      '50 the witness does not sign the decision log: it answers 503',
      '50 the witness does not sign the decision log: the witness has signed 99 records, and the log has 10: it was cut, or is an older copy',
      '40 the witness signs the decision log again',
    ])
  })

  it('takes no signature of another key for that of the witness', async () => {
    await grow(3)
    const other = await startTestWitness()
    const key = other.key
    await other.stop()
    expect(told(await show(key))).to.equal(`the answer has no signature of ${key.name}+${key.id}`)
    expect(await readWitnessed(`${log}.tree`, witness.key)).to.equal(undefined)
  })

  it('is shown with its new key and name when a new tree begins, and from a key that was lost on with another', async () => {
    await grow(10)
    const events: WitnessEvent[] = []
    const shown = start(events)
    const keys = () => events.flatMap((one) => (one.kind === 'shows' ? [one.key] : []))
    await until(() => events.some(({ kind }) => kind === 'witnessed'))
    await removeFolder(`${log}.tree`)
    witness.signed = undefined
    await grow(1)
    await until(() => events.some((one) => one.kind === 'witnessed' && one.size === 11))
    await shown.close()
    expect(new Set(keys().map((key) => key.split('+')[0])).size).to.equal(2)
    await rm(`${log}.tree/witness-key.pem`)
    await grow(1)
    // The witness still knows the other key.
    const trusted = witness.finds()
    expect(told(await show(witness.key, () => trusted))).to.contain('it was not signed')
  })

  it('takes of any answer nothing but the signature, and ends one that has no end', async () => {
    await grow(300)
    const answers: ((response: ServerResponse) => void)[] = []
    const hostile = createServer((_, response) => answers[0]?.(response))
    hostile.listen(0, '127.0.0.1')
    await once(hostile, 'listening')
    const url = new URL(`http://127.0.0.1:${(hostile.address() as AddressInfo).port}/`)
    const failure = async (answer: (response: ServerResponse) => void) => {
      answers[0] = answer
      const events: WitnessEvent[] = []
      const shown = start(events, url)
      await until(() => events.some(({ kind }) => kind !== 'shows'))
      await shown.close()
      return told(events.filter(({ kind }) => kind !== 'shows'))
    }
    const unsigned = `the answer has no signature of ${witness.key.name}+${witness.key.id}`
    let number = 0
    expect(await failure((response) => response.writeHead(409).end(`${(number++ % 299) + 1}\n`))).to.equal(
      'the witness names another number of records each time',
    )
    expect(await failure((response) => response.writeHead(409).end('400\n'))).to.contain(
      'the witness has signed 400 records, and the log has 300',
    )
    for (const text of ['-1\n', '1e3\n', '12', '12\n13\n', '99999999999999999999\n']) {
      expect(await failure((response) => response.writeHead(409).end(text)), text).to.equal('it was not signed')
    }
    for (const text of [
      '',
      '\n\n',
      `— ${witness.key.name} AAAA\n`,
      `x\n\n— ${witness.key.name} ${'A'.repeat(100)}\n`,
    ]) {
      expect(await failure((response) => response.writeHead(200).end(text)), text).to.equal(unsigned)
    }
    expect(await failure((response) => response.writeHead(302, { location: '/' }).end())).to.contain('fetch failed')
    const endless = (response: ServerResponse) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    }
    expect(await failure(endless)).to.equal('its answer is too long')
    // A stop doesn't wait for one that never answers.
    let asked = 0
    answers[0] = () => {
      asked += 1
    }
    const events: WitnessEvent[] = []
    const shown = start(events, url)
    await until(() => asked > 0)
    await shown.close()
    expect(told(events.filter(({ kind }) => kind !== 'shows'))).to.contain('due to timeout')
    expect(await readWitnessed(`${log}.tree`, witness.key)).to.equal(undefined)
    hostile.closeAllConnections()
    hostile.close()
  })

  it('is not shown by a process that does not keep its tree, and not from hashes that are deleted', async () => {
    await grow(600)
    const events: WitnessEvent[] = []
    await startWitness({ ...options(events), keepsTree: () => false }).close()
    expect(events).to.deep.equal([])
    await show()
    await grow(500)
    await removeTilesBefore(`${log}.tree`, 1024)
    expect(told(await show())).to.equal(
      'it has signed 600 records, and the hashes that prove what came after are deleted or damaged',
    )
  })

  it('is shown by a server, and `decisions verify` asks the witness what it has signed', async () => {
    const env = { LOG_WITNESS: witness.url.href, LOG_WITNESS_KEY: witnessKeyText(witness.key), DECISION_LOG_FILE: log }
    const data = await mkdtemp(join(folder, 'data-'))
    const run = async (...asks: readonly string[]) => {
      const server = await startTestServer({ env: { ...env, DATA_DIR: data } })
      for (const path of asks) await server.ask('GET', path)
      witness.finds = () => readKeyText(String(server.log.find(({ witness: shown }) => shown !== undefined)?.key))
      await server.stop()
    }
    const verify = (...more: readonly string[]) => {
      return sallyport(['decisions', 'verify', log, ...more], { env: { ...env, DATA_DIR: data } })
    }
    await run('/livez')
    const size = witness.signed?.size ?? 0
    expect(size).to.be.greaterThan(2)
    const whole = await verify()
    expect(whole.stdout, whole.stderr).to.contain(
      `  compared with the checkpoint of the witness ${witness.key.name} (${size})`,
    )
    expect([whole.code, whole.stderr]).to.deep.equal([0, ''])
    const older = await mkdtemp(join(folder, 'older-'))
    for (const name of ['decisions.log', 'decisions.log.tree', data.slice(folder.length + 1)]) {
      await cp(join(folder, name), join(older, name), { recursive: true })
    }
    await run('/livez', '/readyz')
    for (const name of ['decisions.log', 'decisions.log.tree', data.slice(folder.length + 1)]) {
      await removeFolder(join(folder, name))
      await cp(join(older, name), join(folder, name), { recursive: true })
    }
    const cut = await verify()
    expect(cut.stdout, cut.stderr).to.match(
      /^cut: the witness \S+ has a checkpoint of \d+ records, and the tree has fewer: the log was cut with its tree/,
    )
    expect(cut.code).to.equal(1)
    const signature = join(`${log}.tree`, 'witnessed')
    const signed = await readFile(signature)
    await rm(signature)
    const unseen = await verify()
    expect(unseen.stdout, 'without what the witness has signed').to.match(/^cut: the witness \S+ has a checkpoint of/)
    expect(unseen.stderr).to.match(
      /^sallyport: the witness \S+ has signed nothing of this log that its tree has kept\n$/,
    )
    expect(unseen.code).to.equal(1)
    await writeFile(signature, signed)
    witness.refuses = 503
    const busy = await verify()
    expect(busy.stderr).to.match(
      /^sallyport: the witness \S+ can't be asked what it has signed since \(it answers 503\)\n$/,
    )
    expect(busy.code).to.equal(0)
    await witness.stop()
    const alone = await verify()
    expect(alone.stderr).to.match(/^sallyport: the witness \S+ can't be asked what it has signed since \(.+\)\n$/)
    expect(alone.code).to.equal(0)
  })

  /** So many more records, which a server signs. */
  async function grow(count: number, word = 'record'): Promise<void> {
    const tree: LogTree = startLogTree({
      file: log,
      keep: 10,
      instance: 'desk',
      now: () => now,
      database: { checkpointOf: async () => undefined, keepCheckpoint: async () => undefined },
      report: () => undefined,
      everyMs: 5,
    })
    const before = (await readFile(log, 'utf8')).split('\n').length - 1
    await appendFile(log, Array.from({ length: count }, (_, i) => `{"${word}":${before + i}}\n`).join(''))
    await tree.close()
  }

  /** Until something was told. */
  async function show(
    key = witness.key,
    finds = (text: string) => readKeyText(text),
  ): Promise<readonly Exclude<WitnessEvent, { kind: 'shows' }>[]> {
    const events: WitnessEvent[] = []
    const shown = start(events, witness.url, key, finds)
    await until(() => events.some(({ kind }) => kind !== 'shows'))
    await shown.close()
    const [first] = events.filter((event) => event.kind !== 'shows')
    return first ? [first] : []
  }

  function start(
    events: WitnessEvent[],
    url = witness.url,
    key = witness.key,
    finds = (text: string) => readKeyText(text),
  ): { close(): Promise<void> } {
    return startWitness({ ...options(events, finds), place: { url, key } })
  }

  function options(events: WitnessEvent[], finds = (text: string) => readKeyText(text)) {
    return {
      file: log,
      place: { url: witness.url, key: witness.key },
      keepsTree: () => true,
      report: (event: WitnessEvent) => {
        if (event.kind === 'shows') {
          const key = finds(event.key)
          witness.finds = () => key
        }
        events.push(event)
      },
      everyMs: 5,
    }
  }

  function told(events: readonly WitnessEvent[]): string {
    const [event] = events
    return event?.kind === 'failing' ? (event.error as Error).message : 'no failure'
  }
})
