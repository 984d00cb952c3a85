/**
 * Each file of cases/ is one case: what is expected, a line a diagnostic (`file:line:column code at <the text there>`),
 * then the schema files, each after a line `--- name`. Adding a case is adding a file; `fine-*` expect nothing.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { type Diagnostic, FileError } from '../../src/base/diagnostic.ts'
import { BUILT_IN_PATHS } from '../../src/resources/built-in/resources.ts'
import { SCHEMA_CODES } from '../../src/resources/check/codes.ts'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import type { SourceText } from '../../src/resources/schema/schema-file.ts'

const CASES = new URL('./cases/', import.meta.url)
const names = readdirSync(CASES).toSorted()

/** Faults of a directory or of bytes, which no text can have: load-resources.test.ts. */
const OF_THE_DISK = ['directory-unreadable', 'directory-empty', 'unknown-file', 'file-unreadable', 'file-encoding']

interface Case {
  readonly expected: readonly string[]
  readonly sources: readonly SourceText[]
}

function readCase(name: string): Case {
  const [expected = '', ...files] = readFileSync(new URL(name, CASES), 'utf8').split(/^--- /m)
  return { expected: expected.split('\n').filter((line) => line !== ''), sources: files.map(toSource) }
}

function toSource(section: string): SourceText {
  const end = section.indexOf('\n')
  const source = { name: section.slice(0, end), text: section.slice(end + 1) }
  return source.name.startsWith('commands/') ? { ...source, isCommand: true } : source
}

function diagnosticsOf(sources: readonly SourceText[]): readonly Diagnostic[] {
  try {
    parseResources(sources)
    return []
  } catch (error) {
    if (error instanceof FileError) return error.diagnostics
    throw error
  }
}

/** As the case file writes it; the text is as long as the expected one at the same index. */
function written(found: readonly Diagnostic[], { expected, sources }: Case): readonly string[] {
  return found.map(({ file, line, column, code }, i) => {
    const start = `${file}:${line}:${column} ${code} at `
    const text =
      sources
        .find(({ name }) => name === file)
        ?.text.split('\n')
        [line - 1]?.slice(column - 1) ?? ''
    return start + text.slice(0, Math.max((expected[i]?.length ?? 0) - start.length, 0))
  })
}

describe('a faulty schema file stops the start with file and place', () => {
  for (const name of names) {
    it(name.replace('.txt', '').replaceAll('-', ' '), () => {
      const one = readCase(name)
      expect(written(diagnosticsOf(one.sources), one)).to.deep.equal(one.expected)
    })
  }

  it('the hint about reserved paths names each path of the server, or what it begins with', () => {
    const paths = SCHEMA_CODES['route-reserved'].match(/\/[\w./-]+/g) ?? []
    const unnamed = BUILT_IN_PATHS.filter((path) => {
      return !paths.some((one) => path === one || (one.endsWith('/') && path.startsWith(one)))
    })
    expect(unnamed).to.deep.equal([])
    expect(BUILT_IN_PATHS).to.include('/access/v1/evaluation')
  })

  it('every code has a case', () => {
    const used = new Set(names.flatMap((name) => readCase(name).expected.map((line) => line.split(' ')[1])))
    expect([...used, ...OF_THE_DISK].toSorted()).to.deep.equal(Object.keys(SCHEMA_CODES).toSorted())
  })

  it('a case without expectations is one that is meant to be fine', () => {
    const fine = names.filter((name) => readCase(name).expected.length === 0)
    expect(fine).to.deep.equal(names.filter((name) => name.startsWith('fine-')))
    expect(fine).to.have.length.greaterThan(2)
  })

  it('a wrong expectation is noticed (negative control)', () => {
    const one = readCase('keyword-typo.txt')
    const wrong = { ...one, expected: one.expected.map((line) => line.replace('x-idnex', 'x-index')) }
    expect(written(diagnosticsOf(wrong.sources), wrong)).to.not.deep.equal(wrong.expected)
    const moved = { ...one, expected: one.expected.map((line) => line.replace(':12:', ':13:')) }
    expect(written(diagnosticsOf(moved.sources), moved)).to.not.deep.equal(moved.expected)
  })

  it('says what is wrong and what to do, in the way that diagnostics are written', () => {
    const all = names.flatMap((name) => diagnosticsOf(readCase(name).sources))
    for (const { message, hint, severity } of all) {
      expect(message).to.match(/^[^A-Z].*[^.]$/)
      expect(hint).to.be.a('string').and.not.equal('')
      expect(severity).to.equal('error')
    }
  })

  it('a clash names both places', () => {
    const [clash] = diagnosticsOf(readCase('route-clash-of-files.txt').sources)
    expect(clash?.file).to.equal('things.json')
    expect(clash?.message).to.contain('people.json:5:17').and.contain('/profile/me').and.contain('/profile/{id}')
  })
})
