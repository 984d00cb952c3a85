/** What somebody tries who can write the log and its tree, and what a careless operator does to them. */
import { once } from 'node:events'
import {
  appendFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { openFilesOfLog } from '../../../src/decision-log/log-files.ts'
import { GrowingTree } from '../../../src/decision-log/tree/growing-tree.ts'
import { type LogKey, makeKey, readKey } from '../../../src/decision-log/tree/log-key.ts'
import { type LogTree, type LogTreeEvent, startLogTree, treeFolder } from '../../../src/decision-log/tree/log-tree.ts'
import { leafHash } from '../../../src/decision-log/tree/merkle.ts'
import type { SignedHistory } from '../../../src/decision-log/tree/signed-history.ts'
import { checkpointText, keyText } from '../../../src/decision-log/tree/signed-note.ts'
import { writeTile } from '../../../src/decision-log/tree/tiles.ts'
import { checkpointsOfDatabase } from '../../../src/tools/log-proof/checkpoints-of-database.ts'
import { historyOf, pinnedKey } from '../../../src/tools/log-proof/tree-of-log.ts'
import { verifyLog } from '../../../src/tools/log-proof/verify-log.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { until } from '../../until.ts'

const DAY_MS = 86_400_000

describe('a signed log', () => {
  let folder: string
  let log: string
  let now: number
  let events: LogTreeEvent[]
  let inDatabase: Map<string, string>

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    log = join(folder, 'decisions.log')
    now = Date.parse('2026-11-29T12:00:00Z')
    events = []
    inDatabase = new Map()
  })
  afterEach(() => removeFolder(folder))

  it('is no other one whose own key announces the key that somebody kept', async () => {
    await writeFile(log, linesFrom(0, 20))
    await start().close()
    const kept = (await history()).keys[0] ?? none()
    expect(pinnedKey(keyText(kept), await history())).not.to.equal(undefined)
    // The forger knows the public key, and lets a key of the same name announce it.
    const forged = join(folder, 'forged.log')
    await writeFile(forged, linesFrom(100, 20))
    await mkdir(treeFolder(forged))
    const key = await makeKey(treeFolder(forged), kept.name)
    await writeHistory(forged, { kind: 'key', key: keyText(key.verifier) })
    inDatabase.clear()
    await start(forged).close()
    const { size, root } = (await history(forged)).checkpoints.at(-1) ?? none()
    const tree = checkpointText({ origin: `${kept.name}/next-key`, size, root })
    await writeHistory(forged, { kind: 'next-key', note: key.sign(`${tree}${keyText(kept)}\n`) })
    const { keys, unsigned } = await history(forged)
    expect([keys.length, unsigned]).to.deep.equal([2, []])
    expect(
      await history(forged)
        .then((found) => pinnedKey(keyText(kept), found))
        .catch(String),
    ).to.contain('was signed by other keys than --key')
    // The forger's own key would be one.
    expect(pinnedKey(keyText(key.verifier), await history(forged))).not.to.equal(undefined)
  })

  it('keeps to what yesterday signed, although the key of today is stolen and the checkpoints are removed', async () => {
    await writeFile(log, linesFrom(0, 20))
    await start().close()
    now += DAY_MS
    await appendFile(log, linesFrom(20, 20))
    await start().close()
    const { keys } = await history()
    expect(keys.length).to.equal(2)
    const [first, today] = [keys[0] ?? none(), keys[1] ?? none()]
    const key = (await readKey(treeFolder(log), today.name, keyText(today))) ?? none()
    const lines = (await readFile(log, 'utf8')).split('\n').slice(0, -1)
    const file = join(treeFolder(log), 'checkpoints')
    const entries = (await readFile(file, 'utf8')).split('\n')
    const kept = entries.filter((one) => one !== '' && !one.includes('"checkpoint"'))
    const forgery = lines.with(7, '{"record":"decision","forged":true}')
    for (const [forged, isWhole, text] of [
      [lines, true, `${kept.join('\n')}\n`],
      [forgery, false, `${kept.join('\n')}\n`],
      [forgery, false, entries.join('\n')],
    ] as const) {
      await writeFile(log, forged.map((line) => `${line}\n`).join(''))
      await writeFile(file, text)
      await signAnew(forged, key)
      const found = await history()
      expect((await verifyLog([log], treeFolder(log), found)).faults.length === 0).to.equal(isWhole)
      expect(keyText(pinnedKey(keyText(first), found))).to.equal(keyText(first))
    }
  })

  it('changes its key after a day without records too, and after its clock was set back a year', async () => {
    await writeFile(log, linesFrom(0, 20))
    const tree = start()
    await until(async () => inDatabase.size > 0)
    for (const [after, count] of [
      [DAY_MS, 2],
      [365 * DAY_MS, 3],
      [-365 * DAY_MS, 4],
      [-1000, 4],
    ] as const) {
      now += after
      await until(async () => (await history()).keys.length === count)
    }
    await tree.close()
    const found = await history()
    expect(found.keys.length).to.equal(4)
    expect(found.unsigned).to.deep.equal([])
    expect(await verifyLog([log], treeFolder(log), found)).to.deep.include({ whole: 20, faults: [] })
    await start(join(folder, 'empty.log')).close()
    now += DAY_MS
    await start(join(folder, 'empty.log')).close()
    expect((await history(join(folder, 'empty.log'))).checkpoints).to.deep.equal([])
  })

  it('is found out as an older copy from before a change of the key, and its server signs nothing over it', async () => {
    await writeFile(log, linesFrom(0, 20))
    await start().close()
    const original = join(folder, 'copy.tree')
    await cp(treeFolder(log), original, { recursive: true })
    now += DAY_MS
    await appendFile(log, linesFrom(20, 20))
    await start().close()
    const [[origin = '', newest = ''] = []] = [...inDatabase]
    await writeFile(log, linesFrom(0, 20))
    await removeFolder(treeFolder(log))
    await cp(original, treeFolder(log), { recursive: true })
    const older = await history()
    const [outside = none()] = inDatabaseAlone(newest, older)
    expect(outside).to.include({ size: 40, place: 'the database' })
    const { faults } = await verifyLog([log], treeFolder(log), older, [outside])
    expect(faults.map(({ kind }) => kind)).to.deep.equal(['cut'])
    // Its records have the same number, and others are signed.
    const same = { ...outside, size: 20 }
    expect((await verifyLog([log], treeFolder(log), older, [same])).faults.map(({ kind }) => kind)).to.deep.equal([
      'rewritten',
    ])
    const tree = start()
    await until(() => inDatabase.size === 2)
    await tree.close()
    expect(inDatabase.get(origin)).to.equal(newest)
    expect((await readdir(folder)).filter((name) => name.startsWith('decisions.log.tree.')).length).to.equal(1)
  })

  it('has no record at the end of a file that only a line end hides', async () => {
    await writeFile(`${log}.1`, linesFrom(0, 20))
    await writeFile(log, linesFrom(20, 20))
    await start().close()
    const found = async () => verifyLog([`${log}.1`, log], treeFolder(log), await history())
    const forged = '{"record":"decision","forged":"\u00e9"}'
    await appendFile(`${log}.1`, forged)
    expect((await found()).faults).to.deep.equal([{ kind: 'added', place: `${log}.1:21` }])
    await writeFile(`${log}.1`, linesFrom(0, 20).slice(0, -1))
    expect(await found()).to.deep.include({ whole: 40, faults: [] })
    // What a server that runs is about to write.
    await appendFile(log, forged)
    expect(await found()).to.deep.include({ whole: 40, newer: 1, faults: [] })
  })

  it('can not be emptied by a change of the number from which hashes are kept', async () => {
    await writeFile(log, linesFrom(0, 600))
    await start().close()
    for (const minimum of ['0', '512', '600', '999999']) {
      await writeFile(join(treeFolder(log), 'minimum'), minimum)
      await writeFile(log, '')
      const { faults } = await verifyLog([log], treeFolder(log), await history())
      expect(
        faults.map(({ kind }) => kind),
        minimum,
      ).to.deep.equal(['missing'])
      await writeFile(log, linesFrom(0, 600))
    }
  })

  it('is whole after its process was killed, or its disk was full, between two files of a checkpoint', async () => {
    await writeFile(log, linesFrom(0, 20))
    await start().close()
    const history20 = await readFile(join(treeFolder(log), 'checkpoints'))
    const note20 = await readFile(join(treeFolder(log), 'checkpoint'))
    await appendFile(log, linesFrom(20, 20))
    await start().close()
    const [newest = ''] = inDatabase.values()
    const whole = async () => {
      const found = await history()
      const outside = inDatabaseAlone(newest, found)
      expect(await verifyLog([log], treeFolder(log), found, outside)).to.deep.include({ whole: 40, faults: [] })
    }
    // The checkpoint that the next one of its minute replaces was removed, and the next one isn't there yet.
    const history40 = await readFile(join(treeFolder(log), 'checkpoints'))
    await writeFile(join(treeFolder(log), 'checkpoints'), history20)
    await whole()
    await start().close()
    await whole()
    // The file of the newest one wasn't replaced yet, or somebody deleted it.
    for (const left of [note20, undefined]) {
      await writeFile(join(treeFolder(log), 'checkpoints'), history40)
      await rm(join(treeFolder(log), 'checkpoint'))
      if (left) await writeFile(join(treeFolder(log), 'checkpoint'), left)
      await whole()
      await start().close()
      await whole()
    }
    expect((await readdir(folder)).filter((name) => name.startsWith('decisions.log.tree.'))).to.deep.equal([])
  })

  for (const name of ['checkpoints', 'checkpoint', 'key.pem', 'minimum', 'starts', 'tile/0/000.p/20']) {
    it(`is put aside by no start that can't read ${name} at the moment`, async () => {
      await writeFile(log, linesFrom(0, 20))
      await start().close()
      const file = join(treeFolder(log), name)
      await rename(file, join(folder, 'elsewhere')).catch(() => undefined)
      // A link to a folder in its place: each read fails, for root too, until the file replaces it at once.
      await symlink(folder, file)
      const tree = start()
      await until(() => events.some(({ kind }) => kind === 'failing'))
      await rename(join(folder, 'elsewhere'), file).catch(() => rm(file))
      await until(() => events.some(({ kind }) => kind === 'working'))
      await appendFile(log, linesFrom(20, 20))
      await tree.close()
      expect((await history()).keys.length).to.equal(1)
      expect(await verifyLog([log], treeFolder(log), await history())).to.deep.include({ whole: 40, faults: [] })
      expect((await readdir(folder)).filter((one) => one.startsWith('decisions.log.tree.'))).to.deep.equal([])
    })
  }

  it('has newer lines, and none that somebody added, before its first checkpoint', async () => {
    await start().close()
    await writeFile(log, linesFrom(0, 20))
    expect(await verifyLog([log], treeFolder(log), await history())).to.deep.include({
      whole: 0,
      newer: 20,
      faults: [],
    })
  })

  for (const isCut of [false, true]) {
    it(`signs no record twice after its newest file was ${isCut ? 'deleted' : 'moved away'} while no server ran`, async () => {
      await writeFile(log, linesFrom(0, 300))
      const tree = start()
      await until(async () => (await sizeSigned()) === 300)
      await rename(log, `${log}.1`)
      await writeFile(log, linesFrom(300, 300))
      await until(async () => (await sizeSigned()) === 600)
      await tree.close()
      const moved = join(folder, 'moved')
      await rename(log, moved)
      if (isCut) await writeFile(`${log}.1`, linesFrom(0, 20))
      await writeFile(log, linesFrom(600, 10))
      await start().close()
      const files = isCut ? [`${log}.1`, log] : [`${log}.1`, moved, log]
      const { whole, newer, faults } = await verifyLog(files, treeFolder(log), await history())
      expect([whole, newer]).to.deep.equal(isCut ? [30, 0] : [610, 0])
      expect(faults).to.deep.equal(isCut ? [{ kind: 'missing', from: 20, to: 599, isEnd: false }] : [])
    })
  }

  it('is signed anew when somebody deletes its tree while it grows', async () => {
    await writeFile(log, linesFrom(0, 20))
    const tree = start()
    await until(async () => (await sizeSigned()) === 20)
    await rename(treeFolder(log), join(folder, 'deleted'))
    await appendFile(log, linesFrom(20, 20))
    await until(async () => (await sizeSigned()) === 40)
    await tree.close()
    expect(events.filter(({ kind }) => kind === 'signs').length).to.equal(2)
    expect(await verifyLog([log], treeFolder(log), await history())).to.deep.include({ whole: 40, faults: [] })
  })

  it('leaves no file open when its key can not be written: a handle that is collected ends the process', async function () {
    if (process.platform !== 'linux') this.skip()
    await writeFile(log, linesFrom(0, 20))
    await mkdir(join(treeFolder(log), 'key.pem'), { recursive: true })
    const tree = start()
    await until(() => events.some(({ kind }) => kind === 'failing'))
    await tree.close()
    expect(await openFiles()).to.deep.equal([])
  })

  it('leaves none of its files open when one of them can not be opened', async function () {
    if (process.platform !== 'linux') this.skip()
    await writeFile(log, linesFrom(20, 20))
    await writeFile(`${log}.1`, linesFrom(0, 20))
    const all = await openFilesOfLog(log)
    expect((await openFiles()).length).to.equal(2)
    await Promise.all(all.map((one) => one.close()))
    // No process can open a socket, root neither.
    const socket = createServer().listen(`${log}.2`)
    await once(socket, 'listening')
    expect(await openFilesOfLog(log).catch(({ code }) => code)).to.equal('ENXIO')
    expect(await openFiles()).to.deep.equal([])
    socket.close()
  })

  async function openFiles(): Promise<readonly string[]> {
    const numbers = await readdir('/proc/self/fd')
    const files = await Promise.all(numbers.map((one) => readlink(`/proc/self/fd/${one}`).catch(() => '')))
    return files.filter((file) => file.startsWith(folder))
  }

  /** As its server would, from the first record on. */
  async function signAnew(lines: readonly string[], { verifier: { name: origin }, sign }: LogKey): Promise<void> {
    const tree = new GrowingTree()
    for (const line of lines) tree.add(leafHash(line))
    for (const tile of tree.partial()) await writeTile(treeFolder(log), tile)
    const note = sign(checkpointText({ origin, size: tree.size, root: tree.root() }))
    await writeHistory(log, { kind: 'checkpoint', why: 'time', note })
    await writeFile(join(treeFolder(log), 'checkpoint'), note)
  }

  function start(file = log, keep = 1000): LogTree {
    return startLogTree({
      file,
      keep,
      database: {
        checkpointOf: async (name) => inDatabase.get(name),
        keepCheckpoint: async (name, note) => void inDatabase.set(name, note),
      },
      instance: '3000',
      now: () => new Date(now),
      report: (event) => events.push(event),
      everyMs: 10,
    })
  }

  async function sizeSigned(): Promise<number> {
    return (await history().catch(() => undefined))?.checkpoints.at(-1)?.size ?? 0
  }

  async function history(file = log) {
    return historyOf(treeFolder(file))
  }

  async function writeHistory(file: string, entry: object): Promise<void> {
    const line = { time: new Date(now).toISOString(), ...entry }
    await appendFile(join(treeFolder(file), 'checkpoints'), `${JSON.stringify(line)}\n`)
  }
})

function linesFrom(first: number, count: number): string {
  return Array.from({ length: count }, (_, at) => `{"record":"decision","n":${first + at}}\n`).join('')
}

function inDatabaseAlone(checkpoint: string, history: SignedHistory) {
  return checkpointsOfDatabase({ checkpoint, cosignatures: [], offers: [] }, history).compared
}

function none(): never {
  throw new Error('there is none')
}
