/** Reading a log: every line once, however its files are renamed meanwhile. */
import { appendFile, mkdtemp, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { followLines, LogFollower, openFilesOfLog } from '../../src/decision-log/log-files.ts'
import { removeFolder } from '../ends-with-tests.ts'

const ROUNDS = 30
const KEPT = 12

describe('following a decision log', () => {
  let folder: string
  let log: string
  let stop: AbortController

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    log = join(folder, 'decisions.log')
    stop = new AbortController()
  })
  afterEach(async () => {
    stop.abort()
    await removeFolder(folder)
  })

  it('tells every line once, also when the file is full several times between two looks', async () => {
    await writeFile(log, '0\n')
    const lines = followLines(log, 0, stop.signal)
    expect((await lines.next()).value).to.equal('0')
    for (let i = 1; i < KEPT; i++) {
      await rotate()
      await writeFile(log, `${i}\n`)
    }
    expect(await take(lines, KEPT - 1)).to.deep.equal(Array.from({ length: KEPT - 1 }, (_, i) => String(i + 1)))
  })

  it('tells every line once while the file is written and rotated', async () => {
    await writeFile(log, '')
    const told = take(followLines(log, 0, stop.signal), ROUNDS * 3)
    for (let i = 0; i < ROUNDS; i++) {
      await appendFile(log, `${i}.0\n${i}.1\n`)
      await appendFile(log, `${i}.2\n`)
      await rotate()
      await writeFile(log, '')
    }
    const all = Array.from({ length: ROUNDS }, (_, i) => [`${i}.0`, `${i}.1`, `${i}.2`]).flat()
    expect(await told).to.deep.equal(all)
  })

  it('goes on with the new file where the old one was moved out of the log', async () => {
    await writeFile(`${log}.1`, 'old\n')
    await writeFile(log, 'a\n')
    const lines = followLines(log, 0, stop.signal)
    expect((await lines.next()).value).to.equal('a')
    await rename(log, join(folder, 'moved'))
    await writeFile(log, 'b\n')
    expect(await take(lines, 1)).to.deep.equal(['b'])
  })

  it('reads nothing of a device, which may have no end', async () => {
    await using follower = new LogFollower('/dev/full', 0)
    expect(await openFilesOfLog('/dev/full')).to.deep.equal([])
    expect(await follower.next()).to.equal('nothing new')
  })

  it('is read whole also where it is rotated while it is read', async () => {
    for (let i = 0; i < 3; i++) {
      await writeFile(log, `${i}\n`)
      await rotate()
    }
    await writeFile(log, '3\n')
    const files = await openFilesOfLog(log)
    await rotate()
    await writeFile(log, '4\n')
    const texts = await Promise.all(files.map((one) => one.readFile('utf8').finally(() => one.close())))
    expect(texts.join('')).to.equal('0\n1\n2\n3\n')
  })

  /** As the server does it: each full file gets the next number. */
  async function rotate(): Promise<void> {
    for (let number = ROUNDS; number >= 1; number--) {
      await rename(`${log}.${number}`, `${log}.${number + 1}`).catch(() => undefined)
    }
    await rename(log, `${log}.1`)
  }

  async function take(lines: AsyncGenerator<string>, count: number): Promise<readonly string[]> {
    const taken: string[] = []
    while (taken.length < count) taken.push((await lines.next()).value)
    await lines.return(undefined)
    return taken
  }
})
