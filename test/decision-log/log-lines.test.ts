/** The lines of a log file, whatever somebody has written to it. */
import { type FileHandle, mkdtemp, open, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { linesWithEnds, readLinesBackwards } from '../../src/decision-log/log-files.ts'
import { removeFolder } from '../ends-with-tests.ts'

describe('the lines of a log', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
  })
  after(() => removeFolder(folder))

  /** The lengths of the lines, and how often the file was read. */
  async function readingOf(
    read: (file: FileHandle) => AsyncIterable<string | { readonly line: string }>,
    text: string,
  ) {
    const name = join(folder, 'log')
    await writeFile(name, text)
    await using handle = await open(name)
    let reads = 0
    const counted = {
      stat: () => handle.stat(),
      read: (...args: Parameters<FileHandle['read']>) => {
        reads += 1
        return handle.read(...args)
      },
    } as unknown as FileHandle
    const lines = await Array.fromAsync(read(counted), (one) => (typeof one === 'string' ? one : one.line).length)
    return { lines, reads }
  }

  for (const [way, read] of [
    ['from the beginning', linesWithEnds],
    ['from the end', readLinesBackwards],
  ] as const) {
    it(`are read ${way} in a few steps, however long one of them is`, async () => {
      const long = 16 * 1024 * 1024
      const { lines, reads } = await readingOf(read, `ab\n${'x'.repeat(long)}\nabc\n`)
      const expected = [2, long, 3]
      expect(lines).to.deep.equal(read === linesWithEnds ? expected : expected.toReversed())
      expect(reads).to.be.below(20)
    })
  }
})
