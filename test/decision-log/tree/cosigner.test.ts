/** Instances of one database sign each other's logs as they grow, and find out one that doesn't go on from there. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { withDatabase } from '../../../bench/fixture/environment.ts'
import { type CosignerEvent, startCosigner } from '../../../src/decision-log/tree/cosigner.ts'
import { historyEntries, readNewest } from '../../../src/decision-log/tree/history.ts'
import { stayingKey, stayingVerifier } from '../../../src/decision-log/tree/log-key.ts'
import { startLogTree } from '../../../src/decision-log/tree/log-tree.ts'
import { newestCheckpoint, signedHistory } from '../../../src/decision-log/tree/signed-history.ts'
import {
  asWitness,
  checkpointIn,
  checkpointText,
  cosignedAt,
  keyText,
  signedNote,
  verifierKey,
} from '../../../src/decision-log/tree/signed-note.ts'
import { removeTilesBefore } from '../../../src/decision-log/tree/tiles.ts'
import { cosignLogs } from '../../../src/server/observe/cosigned-log.ts'
import type { LogCosignatures, OpenedStore } from '../../../src/store/contract.ts'
import { checkpointsOfDatabase } from '../../../src/tools/log-proof/checkpoints-of-database.ts'
import { verifyLog } from '../../../src/tools/log-proof/verify-log.ts'
import { sallyport } from '../../command.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { DATABASES, type SharedDatabase } from '../../identity/shared-database.ts'
import { runs } from '../../runs.ts'
import { startTestServer } from '../../server.ts'
import { until } from '../../until.ts'

const DAY_MS = 86_400_000

for (const [engine, create] of Object.entries(DATABASES)) {
  describe(`logs that sign each other, on ${engine}`, () => {
    let folder: string
    let database: SharedDatabase
    let opened: OpenedStore
    let now: Date

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
      database = await create()
      opened = await database.open()
      now = new Date()
      for (const name of ['a', 'b']) await grow(name, 10)
    })
    afterEach(async () => {
      await opened.store.close()
      await database.remove()
      await removeFolder(folder)
    })

    it('have the newest checkpoint of each other, also after their keys have changed', async () => {
      expect(told(await rounds())).to.deep.equal([])
      await grow('a', 700)
      now = new Date(now.getTime() + 2 * DAY_MS)
      await grow('a', 1)
      const events = await rounds()
      expect(told(events)).to.deep.equal([])
      expect(events.map((one) => one.kind === 'round' && one.cosigned)).to.deep.equal([10, 10, 711, 10])
      const [{ by, note } = { by: '', note: '' }] = await opened.outbox.cosignaturesOf(await originOf('a'))
      expect(by).to.equal(await originOf('b'))
      expect(checkpointIn(note)).to.include({ size: 711 })
      const key = await stayingVerifier(join(folder, 'b.tree'), by)
      expect(key && cosignedAt(note, asWitness(key))).to.equal(Math.floor(now.getTime() / 1000))
    })

    it('are found out when they are cut or written anew, with their tree and the database', async () => {
      await rounds()
      const copy = await copyOf('a')
      const rows = await rowsOf('a')
      await grow('a', 20)
      await rounds()
      await copy.putBack()
      await rows.putBack()
      const origin = await originOf('a')
      const cut = `${origin}: it offers 10 records, and this instance has signed 30 that are not its beginning`
      expect(told(await rounds()).map((one) => one.split(': it was')[0])).to.deep.equal([cut])
      for (const [more, size] of [
        [20, 30],
        [5, 35],
      ] as const) {
        await grow('a', more, 'other')
        await rows.putBack()
        expect(told(await rounds()).join()).to.contain(`${origin}: it `)
        expect((await newestCheckpoint(join(folder, 'a.tree')))?.size).to.equal(size)
      }
      // What the other one remembers still says how it was.
      const [seen = ''] = (await readdir(join(folder, 'b.seen'))).filter((name) => !name.endsWith('.key'))
      expect(checkpointIn(await readFile(join(folder, 'b.seen', seen), 'utf8'))).to.include({ origin, size: 30 })
    })

    it('find out by themselves that they were cut, from what the others have signed', async () => {
      await rounds()
      const copy = await copyOf('a')
      await grow('a', 20)
      await rounds()
      await copy.putBack()
      const origin = await originOf('a')
      const before = await opened.outbox.offers()
      const events = await round('a')
      expect(told(events)[0]).to.contain(`${origin}: it has 10 records, and the database has 30 signed ones`)
      // What stands there shows what it was.
      expect(await opened.outbox.offers()).to.deep.equal(before)
      // `decisions verify` names the instance that has signed it.
      const history = await historyOf('a')
      const known = { ...history, staying: await stayingVerifier(join(folder, 'a.tree'), origin) }
      const { compared, unsigned } = checkpointsOfDatabase(
        { cosignatures: await opened.outbox.cosignaturesOf(origin), offers: before },
        known,
      )
      expect(unsigned).to.deep.equal([])
      const verdict = await verifyLog([join(folder, 'a')], join(folder, 'a.tree'), history, compared)
      expect(verdict.faults.map((one) => [one.kind, 'checkpoint' in one && one.checkpoint])).to.deep.equal([
        ['cut', { ...compared[0], size: 30, place: `the instance ${await originOf('b')}` }],
      ])
    })

    it('are found out if two servers go on with copies of one of them', async () => {
      await rounds()
      for (const end of ['', '.tree', '.seen']) {
        await cp(join(folder, `a${end}`), join(folder, `copy${end}`), { recursive: true })
      }
      await grow('a', 5)
      await round('a')
      await grow('copy', 7, 'other')
      expect(told(await round('copy')).join()).to.contain('another server has a copy of it')
      expect(told(await rounds())).to.deep.equal([])
      expect(told(await round('copy')).join()).to.contain('another server has a copy of it')
    })

    it('go on where the database has lost what they signed, and where one was away', async () => {
      await rounds()
      const origins = [await originOf('a'), await originOf('b')] as const
      for (let i = 0; i < 3; i++) await grow('a', 30)
      for (const [log, by] of [origins, origins.toReversed()]) {
        await opened.seeding.writeMark(`log offer ${log}`, '')
        await opened.seeding.writeMark(`log cosigned ${log} by ${by}`, '')
      }
      expect(told(await rounds())).to.deep.equal([])
      const [signed] = await opened.outbox.cosignaturesOf(origins[0])
      expect(checkpointIn(signed?.note ?? '')).to.include({ size: 100 })
    })

    it('are refused where somebody offers in their name, and offer again themselves', async () => {
      await rounds()
      const [origin, other] = [await originOf('a'), await originOf('b')]
      const offers = new Map((await opened.outbox.offers()).map(({ log, text }) => [log, text]))
      const own = offers.get(origin) ?? ''
      const theirs = offers.get(other) ?? ''
      const forged = forgedOffer(origin, 30)
      for (const text of ['-', '{}', theirs, theirs.replaceAll(other, origin), 'x'.repeat(60_000), forged]) {
        await opened.outbox.offer(origin, text)
        expect(told(await round('b')).length, text.slice(0, 100)).to.equal(1)
        expect(told(await round('a')), text.slice(0, 100)).to.deep.equal([
          `${origin}: the database has an entry in its name that its key has not signed: somebody else wrote it, or its witness-key.pem was lost`,
        ])
        expect(told(await rounds()), text.slice(0, 100)).to.deep.equal([])
        expect((await opened.outbox.offers()).find(({ log }) => log === origin)?.text).to.equal(own)
      }
      await grow('a', 5)
      await round('a')
      const { key, note } = JSON.parse((await opened.outbox.offers()).find(({ log }) => log === origin)?.text ?? '{}')
      for (const proof of [`[${'['.repeat(25_000)}${']'.repeat(25_000)}]`, '[1]', '{}', '"x"', 'null', '["AAAA"]']) {
        await opened.outbox.offer(origin, `{"key":"${key}","note":${JSON.stringify(note)},"proofs":{"10":${proof}}}`)
        expect(told(await round('b')).join(), proof.slice(0, 20)).not.to.contain('RangeError')
        expect(checkpointIn((await opened.outbox.cosignaturesOf(origin))[0]?.note ?? '')?.size).to.equal(10)
      }
      expect(told(await rounds())).to.deep.equal([])
      // Names that no server has.
      for (const name of ['x', `${'x'.repeat(500)}`, '../../x', `sallyport/${'x'.repeat(300)}/0123456789abcdef`]) {
        await opened.outbox.offer(name, forgedOffer(name, 30))
      }
      const events = await round('b')
      expect(new Set(told(events).map((one) => one.split(': ')[1]))).to.deep.equal(
        new Set(['what stands in the database in its name is no offer of a log']),
      )
      expect(told(events).every((one) => one.length < 400)).to.equal(true)
      expect(await readdir(join(folder, 'b.seen'))).to.have.length(2)
    })

    it('are signed as they signed themselves, and nothing that somebody wrote below it, under another name, or too long', async () => {
      await rounds()
      const [origin, other] = [await originOf('a'), await originOf('b')]
      const own = await stayingKey(join(folder, 'a.tree'), origin)
      await grow('a', 5)
      await round('a')
      const text = (await opened.outbox.offers()).find(({ log }) => log === origin)?.text ?? ''
      const offer = JSON.parse(text)
      // As if the other one had signed already, so that its own signature would count for nothing.
      const key = asWitness((await stayingVerifier(join(folder, 'b.tree'), other)) ?? own.verifier)
      const line = `— ${other} ${Buffer.concat([Buffer.from(key.id, 'hex'), Buffer.alloc(72)]).toString('base64')}\n`
      await opened.outbox.offer(origin, JSON.stringify({ ...offer, note: `${offer.note}${line}` }))
      expect(told(await round('b'))).to.deep.equal([])
      const [signed] = await opened.outbox.cosignaturesOf(origin)
      expect(checkpointIn(signed?.note ?? '')).to.include({ size: 15 })
      expect(cosignedAt(signed?.note ?? '', key)).to.be.a('number')
      const refused = async (name: string, shown: object) => {
        await opened.outbox.offer(name, JSON.stringify(shown))
        const whys = told(await round('b'))
        await opened.seeding.writeMark(`log offer ${name}`, '')
        await opened.outbox.offer(origin, text)
        return whys.map((one) => one.split(': ')[1])
      }
      const unknown = 'sallyport/c/0123456789abcdef'
      expect(await refused(unknown, offer)).to.deep.equal(['its key has not signed what it offers'])
      const keys = keyPair()
      const note = signedNote(
        checkpointText({ origin, size: 9, root: 'x'.repeat(32) }),
        verifierKey(unknown, keys.publicKey),
        keys.privateKey,
      )
      const its = { key: keyText(verifierKey(unknown, keys.publicKey)), note, proofs: {} }
      expect(await refused(unknown, its)).to.deep.equal(['its key has not signed what it offers'])
      const long = { ...offer, note: `${offer.note}${'— x AAAA\n'.repeat(500)}` }
      expect(await refused(origin, long)).to.deep.equal([
        'what stands in the database in its name is no offer of a log',
      ])
      expect(told(await round('b'))).to.deep.equal([])
    })

    it('take no signature that somebody else wrote for theirs', async () => {
      await rounds()
      const [origin, other] = [await originOf('a'), await originOf('b')]
      await grow('a', 5)
      await round('a')
      const newest = await newestCheckpoint(join(folder, 'a.tree'))
      const { note } = JSON.parse((await opened.outbox.offers()).find(({ log }) => log === origin)?.text ?? '{}')
      const forged = forgedNote(origin, 90)
      const before = await opened.outbox.cosignaturesOf(origin)
      for (const text of [forged, note, 'x', '']) {
        await opened.outbox.cosign(origin, other, text)
        const [event] = await round('a')
        expect(event).to.deep.equal({ kind: 'round', refused: [], cosigned: 0 })
      }
      const known = { ...(await historyOf('a')), staying: await stayingVerifier(join(folder, 'a.tree'), origin) }
      const offers = await opened.outbox.offers()
      const check = (text: string) => {
        const { compared, unsigned } = checkpointsOfDatabase(
          { cosignatures: [{ by: other, note: text }], offers },
          known,
        )
        return [...compared.map(({ size, place }) => `${size} ${place}`), ...unsigned.map((by) => `unsigned ${by}`)]
      }
      expect(check(forged)).to.deep.equal([`unsigned ${other}`])
      // The log has signed it, and the instance hasn't.
      expect(check(note)).to.deep.equal([`${newest?.size} the database`])
      expect(check(before[0]?.note ?? '')).to.deep.equal([`10 the instance ${other}`])
    })

    it('are two if two instances have the same name', async () => {
      await mkdir(join(folder, 'second'))
      await grow('second/a', 4, 'record', 'a')
      await round('second/a')
      expect(told(await rounds())).to.deep.equal([])
      expect(told(await round('second/a'))).to.deep.equal([])
      const { origin } = await historyOf('a')
      const offers = await opened.outbox.offers()
      const { namesake } = checkpointsOfDatabase({ cosignatures: [], offers }, await historyOf('a'))
      expect(namesake).to.deep.equal({ log: await originOf('second/a'), size: 4 })
      const alone = offers.filter(({ log }) => log === origin || log.startsWith('sallyport/b/'))
      const none = checkpointsOfDatabase({ cosignatures: [], offers: alone }, await historyOf('a'))
      expect(none.namesake).to.equal(undefined)
      expect((await opened.outbox.offers()).map(({ log }) => log.split('/')[1]).sort()).to.deep.equal(['a', 'a', 'b'])
      expect(await opened.outbox.cosignaturesOf(await originOf('second/a'))).to.have.length(2)
    })

    it('are signed by an instance whose clock is wrong', async () => {
      await rounds()
      for (const time of ['1960-01-01', '2150-01-01']) {
        await grow('a', 5)
        const real = now
        await round('a')
        now = new Date(time)
        expect(told(await round('b'))).to.deep.equal([])
        now = real
        const [event] = await round('a')
        expect(event).to.deep.include({ refused: [], cosigned: (await newestCheckpoint(join(folder, 'a.tree')))?.size })
      }
    })

    it('are refused when they prove nothing any more, until somebody lets the instance forget them', async () => {
      await rounds()
      await grow('a', 600)
      await removeTilesBefore(join(folder, 'a.tree'), 512)
      // It may still come.
      expect(told(await rounds())).to.deep.equal([])
      for (let i = 0; i < 3; i++) {
        await grow('a', 1)
        await round('a')
      }
      const events: CosignerEvent[] = []
      const cosigner = running('b', events)
      for (let i = 0; i < 4; i++) {
        await grow('a', 1)
        await round('a')
        await twoMore(events)
      }
      await cosigner.close()
      const why = told(events).at(-1) ?? ''
      expect(why).to.contain("it doesn't prove that it goes on from the 10 records")
      await rm(why.slice(why.lastIndexOf(' ') + 1))
      expect(told(await rounds())).to.deep.equal([])
      const [signed] = await opened.outbox.cosignaturesOf(await originOf('a'))
      expect(checkpointIn(signed?.note ?? '')?.size).to.be.greaterThan(600)
    })

    it('are not signed anew after what was signed of them is damaged', async () => {
      await rounds()
      const [seen = ''] = (await readdir(join(folder, 'b.seen'))).filter((name) => !name.endsWith('.key'))
      const file = join(folder, 'b.seen', seen)
      const text = await readFile(file, 'utf8')
      for (const other of ['', text.replace('10\n', '11\n')]) {
        await writeFile(file, other)
        const damaged = `${await originOf('a')}: what this instance has signed of it is damaged: delete ${file}`
        expect(told(await round('b'))).to.deep.equal([damaged])
      }
      await writeFile(file, text)
      expect(told(await round('b'))).to.deep.equal([])
    })

    it('fill no disk: an instance remembers a thousand, and forgets those that are gone for ninety days', async () => {
      const seen = join(folder, 'b.seen')
      await mkdir(seen)
      const names = Array.from({ length: 1000 }, (_, i) => i.toString(16).padStart(16, '0'))
      for (const name of names) await writeFile(join(seen, name), '')
      await round('a')
      expect(told(await round('b')).join()).to.contain('this instance has signed 1000 logs and signs no other one')
      const old = (Date.now() - 91 * DAY_MS) / 1000
      await utimes(join(seen, names[0] ?? ''), old, old)
      await round('b')
      expect(told(await round('b'))).to.deep.equal([])
      const left = () => readdir(seen).then((all) => all.filter((name) => !name.endsWith('.key')))
      expect(await left()).to.have.length(1000)
      // One that is still shown is never forgotten, however long it has had no records.
      const shown = (await left()).find((name) => !names.includes(name)) ?? ''
      await utimes(join(seen, shown), old, old)
      await round('b')
      expect(await left()).to.include(shown)
    })

    it('are written by the process alone that keeps the tree', async () => {
      await round('a', () => false)
      expect(await opened.outbox.offers()).to.deep.equal([])
      await round('a', () => true)
      expect(await opened.outbox.offers()).to.have.length(1)
      // Nothing has changed, so nothing is written.
      const mark = `log offer ${await originOf('a')}`
      const events: CosignerEvent[] = []
      const cosigner = running('a', events)
      await twoMore(events)
      const written = await opened.seeding.readMark(mark)
      await twoMore(events)
      expect(await opened.seeding.readMark(mark)).to.equal(written)
      await grow('a', 1)
      await cosigner.close()
      expect(await opened.seeding.readMark(mark)).not.to.equal(written)
    })

    it('are told once when they are refused and when they are no longer, and counted', async () => {
      await rounds()
      const text = (await opened.outbox.offers()).find(({ log }) => log.startsWith('sallyport/a/'))?.text ?? ''
      const origin = await originOf('a')
      await opened.outbox.offer(origin, forgedOffer(origin, 30))
      const lines: string[] = []
      const registry = new Registry()
      const file = join(folder, 'b')
      const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) })
      let looks = 0
      let isDown = false
      const database: LogCosignatures = {
        offer: (...args) => opened.outbox.offer(...args),
        offers: () => {
          looks += 1
          return isDown ? Promise.reject(new Error('it is down')) : opened.outbox.offers()
        },
        cosign: (...args) => opened.outbox.cosign(...args),
        cosignaturesOf: (...args) => opened.outbox.cosignaturesOf(...args),
      }
      const cosigner = cosignLogs({ file, database, keepsTree: () => true, now: () => now, log, registry, everyMs: 5 })
      const threeLooks = async () => {
        const before = looks
        await until(() => looks >= before + 3)
      }
      await threeLooks()
      expect(await registry.metrics()).to.contain('\nsallyport_decisions_refused_logs 1\n')
      isDown = true
      await threeLooks()
      isDown = false
      await opened.outbox.offer(origin, text)
      await threeLooks()
      await cosigner.close()
      const shown = await registry.metrics()
      expect(shown).to.contain('\nsallyport_decisions_refused_logs 0\n')
      expect(shown).to.contain('\nsallyport_decisions_cosigned_records 10\n')
      expect(lines.map((line) => JSON.parse(line))).to.deep.equal([
        {
          level: 50,
          decisionLog: origin,
          why: 'its key has not signed what it offers',
          msg: 'a decision log is not what it was, and is not signed',
        },
        { level: 50, reason: 'it is down', msg: "the instances can't sign each other's logs" },
        { level: 40, msg: "the instances sign each other's logs again" },
        { level: 40, decisionLog: origin, msg: 'a decision log is no longer refused' },
      ])
    })

    it('are those of servers, and `decisions verify` names the instance that saw what was cut', async () => {
      const logs: Record<string, readonly Record<string, unknown>[]> = {}
      const envOf = (name: string) => ({
        ...withDatabase(database.url),
        INSTANCE: name,
        DECISION_LOG_FILE: join(folder, `${name}.log`),
        DATA_DIR: join(folder, `${name}-data`),
      })
      const serve = async (name: string, ...paths: readonly string[]) => {
        const server = await startTestServer({ env: envOf(name) })
        for (const path of paths) await server.ask('GET', path)
        await server.stop()
        logs[name] = server.log
      }
      const verify = () => sallyport(['decisions', 'verify', join(folder, 'one.log')], { env: envOf('one') })
      await serve('one', '/livez')
      await serve('two', '/livez')
      const [origin, other] = [await originOf('one.log'), await originOf('two.log')]
      const size = (await newestCheckpoint(join(folder, 'one.log.tree')))?.size
      const whole = await verify()
      expect(whole.stdout, whole.stderr).to.contain(`  compared with the checkpoint of the instance ${other} (${size})`)
      expect([whole.code, whole.stderr]).to.deep.equal([0, ''])
      const copy = await copyOf('one.log')
      const mark = `decision log ${origin}`
      const before = (await opened.seeding.readMark(mark)) ?? ''
      await serve('one', '/livez', '/readyz')
      await serve('two')
      const seen = (await newestCheckpoint(join(folder, 'one.log.tree')))?.size
      await copy.putBack()
      await opened.seeding.writeMark(mark, before)
      const cut = await verify()
      expect(cut.stdout.split('\n')[0], cut.stderr).to.equal(
        `cut: the instance ${other} has a checkpoint of ${seen} records, and the tree has fewer: the log was cut with its tree, or both are an older copy`,
      )
      expect(cut.code).to.equal(1)
      // The server serves, says so, and the other one never signs it.
      await serve('one', '/livez')
      const told = logs.one?.find(({ decisionLog }) => decisionLog === origin)
      expect(told).to.include({ level: 50, msg: 'a decision log is not what it was, and is not signed' })
      const forked = await verify()
      expect(forked.stdout.split('\n')[0]).to.match(/^(?:cut|rewritten): .*the instance sallyport\/two\//)
      await serve('two')
      const [signed] = await opened.outbox.cosignaturesOf(origin)
      expect(checkpointIn(signed?.note ?? '')?.size).to.equal(seen)
      // Without its tree it is another log, which says nothing of the one before.
      await rm(join(folder, 'one.log'))
      await removeFolder(join(folder, 'one.log.tree'))
      await serve('one', '/livez')
      const anew = await verify()
      expect(anew.stderr).to.equal(
        `sallyport: the database knows ${seen} records of ${origin}: if no other server has this name, it was the log before\n`,
      )
      await opened.outbox.cosign(await originOf('one.log'), '\u001b[2Jx', 'x')
      const { stderr } = await verify()
      expect(stderr).to.contain('sallyport: the database has an entry of "')
      expect(stderr).not.to.contain('\u001b')
    })

    it('are never refused while they grow, whoever looks when, and always after a cut', async () => {
      const steps = fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('grow', 'look'), fc.nat(40)), {
        minLength: 1,
        maxLength: 8,
      })
      await fc.assert(
        fc.asyncProperty(steps, async (all) => {
          await grow('a', 1)
          for (const [name, what, count] of all) {
            if (what === 'grow') await grow(name, 1 + count)
            else expect(told(await round(name))).to.deep.equal([])
          }
          expect(told(await rounds())).to.deep.equal([])
          const copy = await copyOf('a')
          await grow('a', 3)
          await rounds()
          await copy.putBack()
          await grow('a', all.length, 'other')
          expect(told(await round('a'))).to.have.length(1)
          await removeFolder(join(folder, 'a.tree'))
        }),
        { numRuns: runs(30) },
      )
    })

    async function historyOf(name: string) {
      const tree = join(folder, `${name}.tree`)
      const history = signedHistory((await historyEntries(tree)) ?? [], await readNewest(tree))
      if (!history) throw new Error('no history')
      return history
    }

    async function originOf(name: string): Promise<string> {
      return (await newestCheckpoint(join(folder, `${name}.tree`)))?.origin ?? ''
    }

    async function copyOf(name: string): Promise<{ putBack(): Promise<void> }> {
      const copy = await mkdtemp(join(folder, 'copy-'))
      await cp(join(folder, name), join(copy, 'log'))
      await cp(join(folder, `${name}.tree`), join(copy, 'tree'), { recursive: true })
      return {
        putBack: async () => {
          await removeFolder(join(folder, `${name}.tree`))
          await cp(join(copy, 'log'), join(folder, name))
          await cp(join(copy, 'tree'), join(folder, `${name}.tree`), { recursive: true })
        },
      }
    }

    /** What the database has of a log, as whoever can write it puts it back. */
    async function rowsOf(name: string): Promise<{ putBack(): Promise<void> }> {
      const [log, by] = [await originOf(name), await originOf('b')]
      const names = [`log offer ${log}`, `log cosigned ${log} by ${by}`]
      const values = await Promise.all(names.map((one) => opened.seeding.readMark(one)))
      return {
        putBack: async () => {
          for (const [at, one] of names.entries()) await opened.seeding.writeMark(one, values[at] ?? '')
        },
      }
    }

    async function grow(name: string, count: number, word = 'record', instance = name): Promise<void> {
      const file = join(folder, name)
      await appendFile(file, '')
      const tree = startLogTree({
        file,
        keep: 10,
        instance,
        now: () => now,
        database: { checkpointOf: async () => undefined, keepCheckpoint: async () => undefined },
        report: () => undefined,
      })
      const before = (await readFile(file, 'utf8')).split('\n').length - 1
      await appendFile(file, Array.from({ length: count }, (_, i) => `{"${word}":${before + i}}\n`).join(''))
      await tree.close()
    }

    async function round(name: string, keepsTree = () => true): Promise<readonly CosignerEvent[]> {
      const events: CosignerEvent[] = []
      const options = { file: join(folder, name), database: opened.outbox, now: () => now, keepsTree }
      await startCosigner({ ...options, report: (event) => void events.push(event) }).close()
      return events
    }

    /** One process that goes on. */
    function running(name: string, events: CosignerEvent[]): { close(): Promise<void> } {
      return startCosigner({
        file: join(folder, name),
        database: opened.outbox,
        now: () => now,
        keepsTree: () => true,
        report: (event) => void events.push(event),
        everyMs: 5,
      })
    }

    /** Until everybody has answered what the others offered. */
    async function rounds(): Promise<readonly CosignerEvent[]> {
      const events: CosignerEvent[] = []
      for (const name of ['a', 'b', 'a', 'b']) events.push(...(await round(name)))
      return events
    }
  })
}

/** Rounds: the first one may have begun before. */
async function twoMore(events: readonly CosignerEvent[]): Promise<void> {
  const before = events.length
  await until(() => events.length >= before + 2)
}

function told(events: readonly CosignerEvent[]): readonly string[] {
  return [
    ...new Set(
      events.flatMap((one) =>
        one.kind === 'round' ? one.refused.map(({ log, why }) => `${log}: ${why}`) : [String(one.error)],
      ),
    ),
  ]
}

/** By a key of somebody else. */
function forgedNote(origin: string, size: number, { privateKey, publicKey } = keyPair()): string {
  return signedNote(checkpointText({ origin, size, root: 'x'.repeat(32) }), verifierKey(origin, publicKey), privateKey)
}

function forgedOffer(origin: string, size: number): string {
  const keys = keyPair()
  const key = keyText(verifierKey(origin, keys.publicKey))
  return JSON.stringify({ key, note: forgedNote(origin, size, keys), proofs: { 10: [], 30: [] } })
}

function keyPair(): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  return generateKeyPairSync('ed25519')
}
