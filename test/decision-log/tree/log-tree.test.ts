/** The tree of a real log file: what it signs, what it survives, and what `decisions verify` finds out. */
import { appendFile, cp, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { LogFile } from '../../../src/decision-log/log-file.ts'
import { filesOfLog } from '../../../src/decision-log/log-files.ts'
import { History } from '../../../src/decision-log/tree/history.ts'
import { changeKey, readKey } from '../../../src/decision-log/tree/log-key.ts'
import { type LogTree, type LogTreeEvent, startLogTree, treeFolder } from '../../../src/decision-log/tree/log-tree.ts'
import type { SignedHistory } from '../../../src/decision-log/tree/signed-history.ts'
import { keyText } from '../../../src/decision-log/tree/signed-note.ts'
import { historyOf, outsideCheckpoint } from '../../../src/tools/log-proof/tree-of-log.ts'
import { type LogFault, type LogVerdict, verifyLog } from '../../../src/tools/log-proof/verify-log.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { runs } from '../../runs.ts'
import { until } from '../../until.ts'

const DAY_MS = 86_400_000

describe('the tree of a log', () => {
  let folder: string
  let log: string
  let written: number
  let now: number
  let events: LogTreeEvent[]
  let trees: LogTree[]
  let inDatabase: Map<string, string>
  let isDatabaseDown: boolean

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    log = join(folder, 'decisions.log')
    written = 0
    now = Date.parse('2026-11-29T12:00:00Z')
    events = []
    trees = []
    inDatabase = new Map()
    isDatabaseDown = false
  })
  afterEach(async () => {
    await Promise.all(trees.map((tree) => tree.close()))
    await removeFolder(folder)
  })

  it('has every record, across files and starts, and what came while no server ran', async () => {
    const file = new LogFile({ file: log, maxBytes: 2000, keep: 1000 })
    const tree = start()
    for (let i = 0; i < 40; i++) {
      file.append(lines(7))
      if (i % 8 === 0) await signed()
    }
    await tree.close()
    expect(await verdict()).to.include({ whole: written, first: 0, newer: 0 })
    file.append(lines(5))
    expect(await verdict()).to.include({ newer: 5 })
    const again = start()
    file.append(lines(5))
    await again.close()
    file.close()
    const found = await verdict()
    expect(found).to.include({ whole: written, first: 0, newer: 0 })
    expect(found.faults).to.deep.equal([])
    expect((await filesOfLog(log)).length).to.be.at.least(5)
    expect((await history()).checkpoints.length).to.be.greaterThan(3)
  })

  it('begins with the records that an older version wrote, and says where a log begins whose first files are deleted', async () => {
    await writeFile(`${log}.1`, lines(20))
    await writeFile(log, lines(10))
    await start().close()
    expect(await verdict()).to.include({ whole: 30, first: 0 })
    await rm(`${log}.1`)
    const found = await verdict()
    expect(found).to.include({ whole: 10, first: 20 })
    expect(found.faults).to.deep.equal([])
  })

  it('finds its place in a log of many megabytes, whether its newest record is near the end or not', async () => {
    const text = 'x'.repeat(1000)
    const long = (count: number) => lines(count).replaceAll('"record"', `"text":"${text}","record"`)
    await writeFile(log, long(3000))
    await start().close()
    await appendFile(log, long(10))
    await start().close()
    expect(await verdict()).to.include({ whole: 3010 })
    await appendFile(log, long(6000))
    await start().close()
    expect(await verdict()).to.include({ whole: 9010, newer: 0 })
  })

  it('of a log that has no records yet signs nothing, and fails at nothing', async () => {
    const tree = start()
    await until(() => events.some(({ kind }) => kind === 'signs'))
    await tree.close()
    expect(events.map(({ kind }) => kind)).to.deep.equal(['signs'])
    expect(inDatabase.size).to.equal(0)
    expect(await verdict()).to.deep.include({ whole: 0, newer: 0, faults: [] })
  })

  it('is kept by one process at a time, and by the next one when that ends', async () => {
    await writeFile(log, lines(3))
    const first = start()
    await signed()
    const second = start()
    await appendFile(log, lines(3))
    await signed()
    expect(events.filter(({ kind }) => kind === 'signs').length).to.equal(1)
    await first.close()
    await appendFile(log, lines(3))
    await signed()
    await second.close()
    expect(events.filter(({ kind }) => kind === 'signs').length).to.equal(2)
    expect(await verdict()).to.include({ whole: 9 })
  })

  it('goes on after a log that was emptied or cut, and tells what is missing', async () => {
    await writeFile(log, lines(10))
    const tree = start()
    await signed()
    const { length } = Buffer.from(linesFrom(0, 8))
    await truncate(log, length)
    // It has grown again before anybody looks.
    await appendFile(log, lines(4))
    await tree.close()
    const found = await verdict()
    expect(found).to.include({ whole: 12, newer: 0 })
    expect(found.faults).to.deep.equal([{ kind: 'missing', from: 8, to: 9, isEnd: false }])
    await writeFile(log, '')
    const again = start()
    await appendFile(log, lines(2))
    await again.close()
    expect(await verdict()).to.include({ whole: 2, first: 14 })
  })

  it('changes its key each day: the old one signs the new one, and is nowhere any more', async () => {
    await writeFile(log, lines(5))
    const tree = start()
    await signed()
    const before = await readFile(join(treeFolder(log), 'key.pem'), 'utf8')
    for (let day = 1; day <= 3; day++) {
      now += DAY_MS
      await appendFile(log, lines(5))
      await signed()
    }
    await tree.close()
    const { keys, announcements, unsigned } = await history()
    expect(new Set(keys.map(keyText)).size).to.equal(4)
    expect(announcements.length).to.equal(3)
    expect(unsigned).to.deep.equal([])
    expect((await verdict()).faults).to.deep.equal([])
    const texts = await textsIn(treeFolder(log))
    const secret = (before.split('\n')[1] ?? '').slice(-40)
    expect(texts.filter((text) => text.includes(secret))).to.deep.equal([])
    // The key of today is there, so the look would find a key.
    const today = await readFile(join(treeFolder(log), 'key.pem'), 'utf8')
    expect(texts.filter((text) => text.includes((today.split('\n')[1] ?? '').slice(-40))).length).to.equal(1)
  })

  for (const [when, isAnnounced] of [
    ['before a new key is announced', false],
    ['between the announcement of a new key and its use', true],
  ] as const) {
    it(`goes on with the right key after an end ${when}`, async () => {
      await writeFile(log, lines(5))
      await start().close()
      const { keys } = await history()
      const origin = keys[0]?.name ?? ''
      const key = await readKey(treeFolder(log), origin, keys[0] ? keyText(keys[0]) : '')
      const { size, root } = (await history()).checkpoints.at(-1) ?? expectKey()
      const signed = { size, root }
      const notes = await History.open(treeFolder(log))
      const announce = async (note: string) => {
        if (isAnnounced) await notes.add({ time: new Date(now).toISOString(), kind: 'next-key', note })
        throw new Error('the process ends')
      }
      expect(key && (await changeKey(treeFolder(log), key, signed, announce).catch((error) => error.message))).to.equal(
        'the process ends',
      )
      await notes.close()
      await appendFile(log, lines(5))
      await start().close()
      const after = await history()
      expect(after.keys.length).to.equal(isAnnounced ? 2 : 1)
      expect(after.unsigned).to.deep.equal([])
      expect(await verdict()).to.include({ whole: 10 })
      expect(events.filter(({ kind }) => kind === 'failing')).to.deep.equal([])
      expect(await readdir(treeFolder(log))).not.to.include('next-key.pem')
    })
  }

  it('forgets the hashes of files that the log has deleted, across starts, and proves the others', async () => {
    const file = new LogFile({ file: log, maxBytes: 20_000, keep: 2 })
    for (let i = 0; i < 4; i++) {
      const tree = start(log, 2)
      for (let part = 0; part < 12; part++) {
        file.append(lines(100))
        await signed()
      }
      await tree.close()
    }
    file.close()
    const tiles = await readdir(join(treeFolder(log), 'tile/0'))
    const { first, whole, faults } = await verdict()
    expect(faults).to.deep.equal([])
    expect(first).to.be.greaterThan(1500)
    expect((first ?? 0) + whole).to.equal(written)
    expect(tiles.length).to.be.lessThan(14)
    // One less, and the first record could not be told.
    await rm(join(treeFolder(log), 'tile/0', `${Math.floor((first ?? 0) / 256)}`.padStart(3, '0')))
    expect((await verdict()).faults.map(({ kind }) => kind)).to.deep.equal(['tile'])
  })

  it('goes on where the log keeps less than a file of hashes', async () => {
    const file = new LogFile({ file: log, maxBytes: 1000, keep: 1 })
    for (let i = 0; i < 12; i++) {
      const tree = start(log, 1)
      for (let part = 0; part < 4; part++) {
        file.append(lines(20))
        await signed()
      }
      await tree.close()
    }
    file.close()
    expect(events.filter(({ kind }) => kind === 'failing')).to.deep.equal([])
    const { first, whole, faults } = await verdict()
    expect(faults).to.deep.equal([])
    expect((first ?? 0) + whole).to.equal(written)
  })

  it('keeps the hashes of files that were moved away', async () => {
    await writeFile(log, lines(300))
    const tree = start(log, 1)
    await signed()
    for (let i = 0; i < 3; i++) {
      await rename(log, join(folder, `moved-${i}`))
      await writeFile(log, lines(300))
      await signed()
    }
    await tree.close()
    const files = [0, 1, 2].map((i) => join(folder, `moved-${i}`))
    const found = await verifyLog([...files, log], treeFolder(log), await history())
    expect(found).to.include({ whole: 1200, first: 0 })
  })

  it('that does not fit its checkpoint is put aside, told once, and a new one begins', async () => {
    await writeFile(log, lines(300))
    await start().close()
    const file = join(treeFolder(log), 'tile/0/001.p/44')
    const bytes = await readFile(file)
    await writeFile(file, bytes.fill(0, 32, 64))
    const tree = start()
    await until(() => events.at(-1)?.kind === 'working')
    await tree.close()
    const failing = events.filter((event) => event.kind === 'failing')
    expect(failing.length).to.equal(1)
    expect(String(failing[0]?.error)).to.contain(
      'the tree of the decision log was damaged, or is an older copy; it is kept as',
    )
    expect((await readdir(folder)).filter((name) => name.startsWith('decisions.log.tree')).length).to.equal(2)
    const [aside = ''] = (await readdir(folder)).filter((name) => name.startsWith('decisions.log.tree.'))
    expect(await readdir(join(folder, aside)))
      .to.include('checkpoints')
      .and.not.include('key.pem')
    expect(await verdict()).to.include({ whole: 300, first: 0 })
  })

  it('goes on by itself when its folder can be written again, and loses no record', async () => {
    await writeFile(log, lines(3))
    const tree = start()
    await signed()
    // A file in the place of the folder of tiles: each write fails, for root too.
    await rename(join(treeFolder(log), 'tile'), join(folder, 'tile'))
    await writeFile(join(treeFolder(log), 'tile'), '')
    await appendFile(log, lines(300))
    await until(async () => events.some(({ kind }) => kind === 'failing'))
    await appendFile(log, lines(300))
    await rm(join(treeFolder(log), 'tile'))
    await rename(join(folder, 'tile'), join(treeFolder(log), 'tile'))
    await until(async () => events.at(-1)?.kind === 'working')
    await tree.close()
    expect(await verdict()).to.include({ whole: 603 })
  })

  it('keeps a checkpoint of each hour of days that are over, and is whole', async () => {
    await writeFile(log, lines(1))
    const tree = start()
    await signed()
    for (let minute = 0; minute < 90; minute++) {
      now += 60_000
      await appendFile(log, lines(1))
      await signed()
    }
    const minutes = (await history()).checkpoints.length
    expect(minutes).to.be.at.least(90)
    for (let day = 0; day < 2; day++) {
      now += DAY_MS
      await appendFile(log, lines(1))
      await signed()
    }
    await tree.close()
    const { checkpoints, keys, unsigned } = await history()
    expect(checkpoints.length).to.be.within(4, 8)
    expect(keys.length).to.equal(3)
    expect(unsigned).to.deep.equal([])
    const { faults, whole } = await verdict()
    expect({ faults, whole }).to.deep.equal({ faults: [], whole: written })
    // It goes on with the rewritten file.
    await start().close()
    expect((await history()).unsigned).to.deep.equal([])
  })

  it('is signed while the database does not answer, and kept there when it does again', async () => {
    await writeFile(log, lines(3))
    const tree = start()
    await signed()
    isDatabaseDown = true
    await appendFile(log, lines(3))
    await signed()
    expect(events.filter(({ kind }) => kind === 'failing')).to.deep.equal([])
    isDatabaseDown = false
    await until(() => [...inDatabase.values()].some((note) => note.includes('\n6\n')))
    await tree.close()
    expect(await verdict()).to.include({ whole: 6 })
  })

  it('keeps one checkpoint of each minute, and those of key changes, rotations and stops', async () => {
    await writeFile(log, lines(1))
    const tree = start()
    await signed()
    for (let i = 0; i < 5; i++) {
      now += 20_000
      await appendFile(log, lines(1))
      await signed()
    }
    await rename(log, `${log}.1`)
    await writeFile(log, lines(1))
    await signed()
    await appendFile(log, lines(1))
    await tree.close()
    const { checkpoints, unsigned } = await history()
    expect(unsigned).to.deep.equal([])
    // Seven times or more it was signed.
    expect(checkpoints.length).to.be.within(2, 5)
    expect((await verdict()).faults).to.deep.equal([])
  })

  describe('finds out', () => {
    let original: string
    let keptTree: string

    beforeEach(async () => {
      await writeFile(log, lines(40))
      const tree = start()
      await signed()
      now += 120_000
      await appendFile(log, lines(20))
      await signed()
      await tree.close()
      original = await readFile(log, 'utf8')
      keptTree = join(folder, 'kept')
      await cp(treeFolder(log), keptTree, { recursive: true })
    })

    it('one record that was changed, and says which, between which checkpoints', async () => {
      await fc.assert(
        fc.asyncProperty(fc.nat({ max: 59 }), fc.nat(), async (record, place) => {
          const all = original.split('\n').slice(0, -1)
          const line = all[record] ?? ''
          const at = place % line.length
          all[record] = `${line.slice(0, at)}${line[at] === 'x' ? 'y' : 'x'}${line.slice(at + 1)}`
          await writeFile(log, `${all.join('\n')}\n`)
          const { faults, whole } = await verdict()
          expect(faults).to.deep.equal([{ kind: 'changed', record, place: `${log}:${record + 1}` }])
          expect(whole).to.equal(59)
        }),
        { numRuns: runs(200, 40) },
      )
    })

    it('another log, and says where it stopped to look', async () => {
      await writeFile(log, `${original}${linesFrom(5000, 3000)}`)
      await start().close()
      await writeFile(log, linesFrom(9000, 4000))
      const { faults, whole } = await verdict()
      expect(whole).to.equal(0)
      expect(faults.length).to.be.within(1000, 1002)
      expect(faults.at(-1)).to.deep.equal({ kind: 'stopped', record: 1000 })
      // Nothing is called missing that nobody looked for.
      expect(faults.filter(({ kind }) => kind === 'missing')).to.deep.equal([])
    })

    it('other bytes that a reader takes for the same text', async () => {
      const texts = ['{"n":"\ufffd"}\n', '{"n":"\u00e9"}\n', '{"n":"Z"}\n']
      const other = join(folder, 'other.log')
      await writeFile(other, texts.join(''))
      await start(other).close()
      const found = async (...parts: readonly Buffer[]) => {
        await writeFile(other, Buffer.concat(parts))
        return verifyLog([other], treeFolder(other), await historyOf(treeFolder(other)))
      }
      const [first, second, third] = texts.map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]
      expect((await found(first, second, third)).faults).to.deep.equal([])
      // Both are shown as U+FFFD; and e-acute in another encoding.
      const invalid = Buffer.concat([Buffer.from('{"n":"'), Buffer.from([0xff]), Buffer.from('"}\n')])
      for (const [record, changed] of [
        [0, [invalid, second, third]],
        [1, [first, Buffer.from(texts[1] ?? '', 'latin1'), third]],
      ] as const) {
        const { faults, whole } = await found(...changed)
        expect(faults.map((fault) => [fault.kind, 'record' in fault && fault.record])).to.deep.equal([
          ['changed', record],
        ])
        expect(whole).to.equal(2)
      }
    })

    it('records that are missing, added or in another order', async () => {
      const all = original.split('\n').slice(0, -1)
      const cases: readonly (readonly [readonly string[], readonly LogFault[]])[] = [
        [all.toSpliced(10, 3), [{ kind: 'missing', from: 10, to: 12, isEnd: false }]],
        [all.toSpliced(0, 1), []],
        [all.toSpliced(10, 0, '{"record":"decision"}'), [{ kind: 'added', place: `${log}:11` }]],
        [all.toSpliced(10, 0, all[3] ?? ''), [{ kind: 'added', place: `${log}:11` }]],
        [all.slice(0, 50), [{ kind: 'missing', from: 50, to: 59, isEnd: true }]],
        [[], [{ kind: 'missing', from: 0, to: 59, isEnd: true }]],
        [
          all.with(10, all[11] ?? '').with(11, all[10] ?? ''),
          [
            { kind: 'missing', from: 10, to: 10, isEnd: false },
            { kind: 'changed', record: 12, place: `${log}:12` },
          ],
        ],
      ]
      for (const [kept, faults] of cases.slice(0, 6)) {
        await writeFile(log, kept.map((line) => `${line}\n`).join(''))
        const found = await verdict()
        expect(found.faults).to.deep.equal(faults)
        if (faults.length === 0) expect(found.first).to.equal(1)
      }
      await writeFile(log, (cases[6]?.[0] ?? []).map((line) => `${line}\n`).join(''))
      expect((await verdict()).faults.length).to.be.greaterThan(0)
    })

    it('any change of a line, a removal or an addition, at random', async () => {
      const edit = fc.record({
        at: fc.nat({ max: 59 }),
        how: fc.constantFrom<Edit['how'][]>('change', 'remove', 'add', 'swap'),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 5 }), async (edits) => {
          const all = edits.reduce(edited, original.split('\n').slice(0, -1))
          const changed = all.map((line) => `${line}\n`).join('')
          await writeFile(log, changed)
          // Lines before the first record may be those that were deleted with their file; lines after the last, newer.
          const isSame = original.endsWith(changed)
          const { faults, newer } = await verdict()
          expect(faults.length === 0 && newer === 0, changed).to.equal(isSame)
        }),
        { numRuns: runs(300, 60) },
      )
    })

    it('a log that was cut with its tree, by a checkpoint that stands elsewhere', async () => {
      const [note = ''] = inDatabase.values()
      const elsewhere = outsideCheckpoint('the database', note, await history())
      expect(elsewhere.size).to.equal(60)
      expect((await verdict()).faults).to.deep.equal([])
      // Somebody puts back the log and the tree of before.
      await writeFile(log, original.split('\n').slice(0, 40).join('\n').concat('\n'))
      await removeFolder(treeFolder(log))
      const older = join(folder, 'older')
      await cp(log, older)
      await start(older).close()
      const tree = treeFolder(older)
      const faults = await verifyLog([older], tree, await historyOf(tree))
      expect(faults.faults).to.deep.equal([])
      const compared = await verifyLog([older], tree, await historyOf(tree), [{ ...elsewhere, place: 'the database' }])
      expect(compared.faults.map(({ kind }) => kind)).to.deep.equal(['cut'])
      // One of the same number of records that says otherwise:
      const other = [{ ...elsewhere, size: 40, place: 'the database' }]
      const rewritten = await verifyLog([older], tree, await historyOf(tree), other)
      expect(rewritten.faults.map(({ kind }) => kind)).to.deep.equal(['rewritten'])
    })

    it('an older copy of the log and its tree, and signs nothing over it', async () => {
      const copy = join(folder, 'copy.tree')
      await cp(treeFolder(log), copy, { recursive: true })
      await appendFile(log, lines(10))
      await start().close()
      await writeFile(log, original)
      await removeFolder(treeFolder(log))
      await cp(copy, treeFolder(log), { recursive: true })
      const tree = start()
      await until(() => events.some(({ kind }) => kind === 'failing'))
      await until(() => events.at(-1)?.kind === 'working')
      await tree.close()
      const aside = (await readdir(folder)).filter((name) => name.startsWith('decisions.log.tree.'))
      expect(aside.length).to.equal(1)
      const [one] = [...inDatabase.values()]
      const before = await historyOf(join(folder, aside[0] ?? ''))
      const found = await verifyLog([log], join(folder, aside[0] ?? ''), before, [
        outsideCheckpoint('the database', one ?? '', before),
      ])
      expect(found.faults.map(({ kind }) => kind)).to.include('cut')
    })

    it('a history with a line that was removed, changed or put in another place', async () => {
      const file = join(treeFolder(log), 'checkpoints')
      const all = (await readFile(file, 'utf8')).split('\n').slice(0, -1)
      expect(all.length).to.be.greaterThan(2)
      for (const changed of [
        all.with(1, (all[1] ?? '').replace('sallyport/', 'sallyporT/')),
        all.with(1, '{"time":'),
        [all[0], ...all.slice(1).reverse()],
      ]) {
        await writeFile(file, `${changed.join('\n')}\n`)
        expect((await verdict()).faults.some(({ kind }) => kind === 'unsigned')).to.equal(true)
      }
    })

    it('nothing in a copy that is whole', async () => {
      const copy = join(folder, 'copy')
      await writeFile(copy, original)
      await cp(keptTree, treeFolder(copy), { recursive: true })
      const found = await verifyLog([copy], treeFolder(copy), await historyOf(treeFolder(copy)))
      expect(found.faults).to.deep.equal([])
      expect(found.whole).to.equal(60)
    })
  })

  function start(file = log, keep = 1000): LogTree {
    const tree = startLogTree({
      file,
      keep,
      database: {
        checkpointOf: async (name) => inDatabase.get(name),
        keepCheckpoint: async (name, note) => {
          if (isDatabaseDown) throw new Error('the database is down')
          inDatabase.set(name, note)
        },
      },
      instance: '3000',
      now: () => new Date(now),
      report: (event) => events.push(event),
      everyMs: 10,
    })
    trees.push(tree)
    return tree
  }

  function lines(count: number): string {
    written += count
    return linesFrom(written - count, count)
  }

  function linesFrom(first: number, count: number): string {
    return Array.from({ length: count }, (_, at) => `{"record":"decision","n":${first + at}}\n`).join('')
  }

  /** Waits until all that was written is signed. */
  async function signed(): Promise<void> {
    await until(async () => (await sizeSigned()) >= written)
  }

  async function sizeSigned(): Promise<number> {
    const note = await readFile(join(treeFolder(log), 'checkpoint'), 'utf8').catch(() => '')
    return Number(note.split('\n')[1] ?? 0)
  }

  function history(): Promise<SignedHistory> {
    return historyOf(treeFolder(log))
  }

  async function verdict(): Promise<LogVerdict> {
    return verifyLog(await filesOfLog(log), treeFolder(log), await history())
  }
})

interface Edit {
  readonly at: number
  readonly how: 'change' | 'remove' | 'add' | 'swap'
}

function edited(lines: readonly string[], { at, how }: Edit): string[] {
  switch (how) {
    case 'change':
      return lines.map((line, i) => (i === at ? `${line} ` : line))
    case 'remove':
      return lines.toSpliced(at, 1)
    case 'add':
      return lines.toSpliced(at, 0, `{"n":${at}}`)
    case 'swap':
      return [...lines.slice(0, at), ...lines.slice(at, at + 2).reverse(), ...lines.slice(at + 2)]
  }
}

function expectKey(): never {
  throw new Error('the log has a key')
}

async function textsIn(folder: string): Promise<readonly string[]> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  return Promise.all(
    files.filter((one) => one.isFile()).map((one) => readFile(join(one.parentPath, one.name), 'latin1')),
  )
}
