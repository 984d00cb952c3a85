import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'

const ROOT = new URL('..', import.meta.url).pathname
const run = promisify(execFile)

describe('permits in the type system', () => {
  it('a handler that writes what no decision permitted does not compile', async () => {
    expect(await errorLines('handler-without-permit.ts')).to.deep.equal(expectedLines('handler-without-permit.ts'))
  })

  it('a handler that writes beside the record of its request does not compile', async () => {
    expect(await errorLines('handler-without-record.ts')).to.deep.equal(expectedLines('handler-without-record.ts'))
  })

  it('a permit of one kind is not a permit of another', async () => {
    expect(await errorLines('permit-of-another-kind.ts')).to.deep.equal(expectedLines('permit-of-another-kind.ts'))
  })

  it('a handler that asked compiles', async () => {
    expect(await errorLines('handler-with-permit.ts')).to.deep.equal([])
  })

  /** The lines on which the compiler finds an error, from 1. */
  async function errorLines(file: string): Promise<readonly number[]> {
    const project = join(ROOT, `test/compile/${file}.tsconfig.json`)
    writeFileSync(project, JSON.stringify({ extends: '../../tsconfig.json', include: [file], exclude: [] }))
    try {
      await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', project, '--pretty', 'false'])
      return []
    } catch (error) {
      const { stdout } = error as { stdout: string }
      const lines = stdout.matchAll(new RegExp(`${file.replaceAll('.', '\\.')}\\((\\d+),`, 'g'))
      return [...lines].map(([, line]) => Number(line))
    } finally {
      rmSync(project)
    }
  }

  function expectedLines(file: string): readonly number[] {
    const lines = readFileSync(join(ROOT, 'test/compile', file), 'utf8').split('\n')
    return lines.flatMap((line, i) => (line.includes('// error:') ? [i + 1] : []))
  }
}).timeout(60_000)
