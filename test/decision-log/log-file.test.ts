import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { open as openHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { LogFile } from '../../src/decision-log/log-file.ts'
import { readLinesBackwards } from '../../src/decision-log/log-files.ts'
import { removeNow } from '../ends-with-tests.ts'

describe('the file of the decision log', () => {
  let folder: string
  let file: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sallyport-'))
    file = join(folder, 'decisions.log')
  })
  afterEach(() => removeNow(folder))

  const open = (maxBytes = 1e6, keep = 2) => new LogFile({ file, maxBytes, keep })
  const text = (name = file) => readFileSync(name, 'utf8')

  it('grows by whole lines, and is readable by its owner alone', () => {
    const log = open()
    log.append('a\n')
    log.append('b\nc\n')
    expect(text()).to.equal('a\nb\nc\n')
    expect(statSync(file).mode & 0o777).to.equal(0o600)
    log.close()
  })

  it('goes on after what an earlier process wrote', () => {
    writeFileSync(file, '{old}\n')
    const log = open()
    log.append('new\n')
    expect(text()).to.equal('{old}\nnew\n')
    log.close()
  })

  it('takes away a line that a crash cut off, and only that', () => {
    for (const [before, after] of [
      ['{a}\n{b', '{a}\n'],
      ['{cut off', ''],
      ['{a}\n', '{a}\n'],
      // Some file systems leave zeros after a loss of power.
      ['\0\0\0', ''],
      ['', ''],
    ] as const) {
      writeFileSync(file, before)
      open().close()
      expect(text()).to.equal(after)
    }
  })

  it('becomes .1 when it would grow over its size, and the oldest goes', () => {
    const log = open(10, 2)
    for (const line of ['aaaaaaa\n', 'bbbbbbb\n', 'ccccccc\n', 'ddddddd\n']) log.append(line)
    expect(readdirSync(folder).toSorted()).to.deep.equal(['decisions.log', 'decisions.log.1', 'decisions.log.2'])
    expect([text(), text(`${file}.1`), text(`${file}.2`)]).to.deep.equal(['ddddddd\n', 'ccccccc\n', 'bbbbbbb\n'])
    log.close()
  })

  it('keeps no full file where none is asked for', () => {
    const log = open(10, 0)
    for (const line of ['aaaaaaa\n', 'bbbbbbb\n']) log.append(line)
    expect([readdirSync(folder), text()]).to.deep.equal([['decisions.log'], 'bbbbbbb\n'])
    log.close()
  })

  it('writes a line that is larger than the size, alone in its file', () => {
    const log = open(10, 2)
    log.append(`${'x'.repeat(50)}\n`)
    log.append('y\n')
    expect([text(), text(`${file}.1`).length]).to.deep.equal(['y\n', 51])
    log.close()
  })

  it('goes on in a new file when somebody moved the old one away and says so', () => {
    const log = open()
    log.append('a\n')
    renameSync(file, `${file}.moved`)
    log.append('b\n')
    log.reopen()
    log.append('c\n')
    expect([text(`${file}.moved`), text()]).to.deep.equal(['a\nb\n', 'c\n'])
    log.close()
  })

  it('stays with the old file when a new one cannot be opened', () => {
    const log = open()
    renameSync(file, `${file}.moved`)
    mkdirSync(file)
    expect(() => log.reopen()).to.throw('EISDIR')
    log.append('a\n')
    expect(text(`${file}.moved`)).to.equal('a\n')
    log.close()
  })

  it('goes on at the start of a file that somebody emptied, and fills it up to its size again', () => {
    const log = open(20, 2)
    log.append('{aaaaaaaaaaaaaa}\n')
    truncateSync(file)
    log.append('{b}\n')
    log.append('{c}\n')
    expect([text(), readdirSync(folder)]).to.deep.equal(['{b}\n{c}\n', ['decisions.log']])
    log.close()
  })

  it('goes on in a new file where somebody deleted the old one', () => {
    const log = open()
    log.append('{a}\n')
    rmSync(file)
    log.append('{b}\n')
    expect(text()).to.equal('{b}\n')
    log.close()
  })

  it('refuses lines while its folder is gone, and goes on when that is back', () => {
    const log = open()
    removeNow(folder)
    expect(() => log.append('{a}\n')).to.throw('ENOENT')
    mkdirSync(folder)
    log.append('{b}\n')
    expect(text()).to.equal('{b}\n')
    log.close()
  })

  it('pushes out no full file while a new one can not be opened', () => {
    const log = open(10, 3)
    for (const line of ['aaaaaaa\n', 'bbbbbbb\n', 'ccccccc\n']) log.append(line)
    const full = [text(`${file}.1`), text(`${file}.2`)]
    renameSync(file, `${file}.moved`)
    // A link to nowhere can't be opened, and isn't there for whoever looks.
    symlinkSync('/nowhere/at/all', file)
    for (let i = 0; i < 5; i++) expect(() => log.append('ddddddd\n')).to.throw()
    expect([text(`${file}.1`), text(`${file}.2`), text(`${file}.moved`)]).to.deep.equal([...full, 'ccccccc\n'])
    rmSync(file)
    log.append('ddddddd\n')
    expect(text()).to.equal('ddddddd\n')
    log.close()
  })

  it('is neither a pipe nor a file of another kind, which stays as it is', () => {
    execFileSync('mkfifo', [`${file}.pipe`])
    expect(() => new LogFile({ file: `${file}.pipe`, maxBytes: 10, keep: 0 })).to.throw('is a pipe')
    writeFileSync(file, 'SQLite format 3\0 and more')
    expect(() => open()).to.throw('is not a decision log')
    expect(text()).to.equal('SQLite format 3\0 and more')
  })

  it('finds the records of writes that it holds, in rotated files too', async () => {
    const line = (write: number, requestId: string) => `${JSON.stringify({ record: 'decision', requestId, write })}\n`
    writeFileSync(`${file}.1`, `${line(1, 'a')}${line(2, 'b')}`)
    writeFileSync(
      file,
      [line(3, 'c'), '{"record":"decision","requestId":"r"}\n', line(4, 'd'), 'not JSON "write":4\n'].join(''),
    )
    const log = open()
    expect([...(await log.holds(new Set([2, 3, 4, 5]), 0))].toSorted()).to.deep.equal(['2 b', '3 c', '4 d'])
    log.close()
  })

  it('looks for them no further back than they can be', async () => {
    const line = (write: number) => `${JSON.stringify({ requestId: 'r', write })}\n`
    const log = open()
    writeFileSync(`${file}.1`, line(5))
    log.append('{"requestId":"read"}\n')
    const found = async (since: number) => [...(await log.holds(new Set([5, 6]), since))]
    // A full file that was last written before the records came.
    utimesSync(`${file}.1`, 1000, 1000)
    expect([await found(1_000_000), await found(1_000_001)]).to.deep.equal([['5 r'], []])
    // Behind a write with a lower number.
    log.append(line(4))
    expect(await found(0)).to.deep.equal([])
    log.append(line(6))
    expect(await found(0)).to.deep.equal(['6 r'])
    // Somebody deleted the file that grows.
    rmSync(file)
    expect(await found(0)).to.deep.equal(['5 r'])
    log.close()
  })

  it('looks for them no further back than reads that are older than they', async () => {
    const log = open()
    const read = (time: number) => `{"record":"decision","time":"${new Date(time).toISOString()}","requestId":"read"}\n`
    log.append(
      `{"record":"decision","time":"${new Date(3000).toISOString()}","requestId":"r","write":5}\n${read(2000)}`,
    )
    expect([...(await log.holds(new Set([5]), 2000))]).to.deep.equal(['5 r'])
    expect([...(await log.holds(new Set([5]), 2001))]).to.deep.equal([])
    log.close()
  })

  it('holds up nobody while it looks', async () => {
    const log = open(1e9)
    log.append('{"record":"decision","requestId":"read"}\n'.repeat(200_000))
    let turns = 0
    const count = setInterval(() => {
      turns += 1
    })
    await log.holds(new Set([5]), 0)
    clearInterval(count)
    expect(turns).to.be.greaterThan(5)
    log.close()
  })

  it('is read backwards line by line, whatever is in the lines', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 300 }), { maxLength: 600 }),
        fc.string(),
        async (all, last) => {
          const lines = all.map((line) => line.replaceAll('\n', ' ')).filter((line) => line !== '')
          const rest = last.replaceAll('\n', ' ')
          writeFileSync(file, lines.map((line) => `${line}\n`).join(''))
          appendFileSync(file, rest)
          const expected = [...lines, ...(rest === '' ? [] : [rest])].toReversed()
          await using handle = await openHandle(file)
          expect(await Array.fromAsync(readLinesBackwards(handle))).to.deep.equal(expected)
        },
      ),
      { numRuns: 60 },
    )
  })
})
