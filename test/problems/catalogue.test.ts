import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { FileError, formatDiagnostic, placeAt } from '../../src/base/diagnostic.ts'
import { CATALOGUE, problemType } from '../../src/base/problems/catalogue.ts'
import { Problem } from '../../src/base/problems/problem.ts'
import { Refused, refusalBy } from '../../src/decide/refusal.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('the catalogue of problems', () => {
  it('is the same in docs/problems.md, code, status and title', () => {
    const page = readFileSync(join(ROOT, 'docs/problems.md'), 'utf8')
    const rows = [...page.matchAll(/^\| `([a-z-]+)` \| (\d{3}) \| (.+?) \|/gm)]
    const written = rows.map(([, code, status, title]) => ({ code, status: Number(status), title }))
    expect(written).to.deep.equal(
      Object.entries(CATALOGUE).map(([code, { status, title }]) => ({ code, status, title })),
    )
  })

  it('says in docs/problems.md of every problem when it comes and what to do', () => {
    const page = readFileSync(join(ROOT, 'docs/problems.md'), 'utf8')
    const rows = page.split('\n').filter((line) => /^\| `/.test(line))
    const told = rows.map((line) => line.split(' | ').map((cell) => cell.replaceAll('|', '').trim()))
    expect(told.filter((cells) => cells.length !== 5 || cells.some((cell) => cell === ''))).to.deep.equal([])
    expect(told).to.have.length(Object.keys(CATALOGUE).length)
  })

  it('holds every code that the program throws, and none that it never throws', () => {
    const thrown = new Set(sources().flatMap((text) => [...text.matchAll(/'([a-z]+(?:-[a-z]+)*)'/g)].map(([, c]) => c)))
    expect(Object.keys(CATALOGUE).filter((code) => !thrown.has(code))).to.deep.equal([])
  })

  it('gives 429 its registered type, and every other problem one of its own', () => {
    expect(problemType('quota-exceeded')).to.equal('https://iana.org/assignments/http-problem-types#quota-exceeded')
    expect(problemType('forbidden')).to.equal('urn:sallyport:problem:forbidden')
  })

  it('gives a problem the status of its code', () => {
    expect(new Problem('unique-taken', 'taken').status).to.equal(409)
  })

  it('makes no trace of a problem or a refusal, and leaves those of faults as they are', () => {
    for (const answer of [new Problem('unique-taken', 'taken'), new Refused(refusalBy('role'))]) {
      expect(answer.stack).to.not.contain(import.meta.filename)
    }
    expect(new Error('a fault').stack).to.contain(import.meta.filename)
  })

  function sources(): readonly string[] {
    return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('catalogue.ts'))
      .map((file) => readFileSync(join(ROOT, 'src', file), 'utf8'))
  }
})

describe('diagnostics', () => {
  const fault = { severity: 'error', code: 'x', message: 'is wrong' } as const

  it('come all at once, sorted by file, line and column', () => {
    const error = new FileError([
      { ...fault, file: 'b', line: 1, column: 1 },
      { ...fault, file: 'a', line: 10, column: 1 },
      { ...fault, file: 'a', line: 9, column: 2, hint: 'fix it' },
      { ...fault, file: 'a', line: 9, column: 1 },
    ])
    expect(error.message.split('\n')).to.deep.equal([
      'a:9:1: is wrong [x]',
      'a:9:2: is wrong (fix it) [x]',
      'a:10:1: is wrong [x]',
      'b:1:1: is wrong [x]',
    ])
  })

  it('count lines and columns from 1', () => {
    expect(placeAt('f', 'ab\ncd', 4)).to.deep.equal({ file: 'f', line: 2, column: 2 })
    expect(formatDiagnostic({ ...fault, ...placeAt('f', '', 0) })).to.equal('f:1:1: is wrong [x]')
  })
})
