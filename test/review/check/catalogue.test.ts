/** docs/checks.md and the catalogue say the same, and the catalogue has every code that the parser can report. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { CODES } from '../../../src/tools/check/catalogue.ts'

const PAGE = readFileSync(new URL('../../../docs/checks.md', import.meta.url), 'utf8')
const PARSER = new URL('../../../src/policy/', import.meta.url)
const KINDS = ['relations', 'request-conditions'].map(
  (name) => new URL(`../../../src/decide/${name}/`, import.meta.url),
)
const GUARANTEES = new URL('../../../src/analysis/guarantees/faults.ts', import.meta.url)
/** An error for a wall with a gap, and a warning for other lines about every resource. */
const ERROR_AND_WARNING = 'relation-gap'
/** Texts that look like codes. */
const OTHER = ['utf-8', 'api-key', '2-digit', 'now-1000d', 'at-most', 'ssh-ed25519', 'break-glass']

describe('the catalogue of findings', () => {
  it('is told by docs/checks.md, code by code and word for word', () => {
    const [, errors = '', warnings = ''] = /^## Errors\n(.*)^## Warnings\n(.*)/ms.exec(PAGE) ?? []
    for (const [severity, section] of [
      ['error', errors],
      ['warning', warnings],
    ] as const) {
      const rows = section.split('\n').filter((line) => /^\| `[a-z0-9-]+` \|/.test(line))
      const told = [...CODES.values()].filter((one) => one.severity === severity)
      expect(rows).to.deep.equal(told.map(({ code, meaning, fix }) => `| \`${code}\` | ${meaning} | ${fix} |`))
      expect(rows).to.have.length.greaterThan(30)
    }
  })

  it('has every code that the parser can report', () => {
    const reported = codesInParser().filter((code) => code !== ERROR_AND_WARNING)
    expect(reported.length).to.be.greaterThan(25)
    const errors = [...CODES.values()].filter(({ severity }) => severity === 'error').map(({ code }) => code)
    expect(reported.filter((code) => !errors.includes(code))).to.deep.equal([])
    expect(errors.filter((code) => !reported.includes(code))).to.deep.equal([])
  })

  it('speaks in sentences without a period at the end', () => {
    const texts = [...CODES.values()].flatMap(({ meaning, fix }) => [meaning, fix])
    expect(texts.filter((text) => !/^[A-Z`].*[^.]$/.test(text))).to.deep.equal([])
  })
})

/** Codes are written out where they are reported, or made of `unknown-` and a key. */
function codesInParser(): readonly string[] {
  const parsers = readdirSync(PARSER, { encoding: 'utf8', recursive: true })
    .filter((name) => /^(parse\/.*|policy-files|unknown-files)\.ts$/.test(name))
    .map((name) => new URL(name, PARSER))
  const kinds = KINDS.flatMap((folder) => readdirSync(folder).map((name) => new URL(name, folder)))
  const texts = [...parsers, ...kinds, new URL('../base/yaml-file.ts', PARSER), GUARANTEES].map((file) =>
    readFileSync(file, 'utf8'),
  )
  const quoted = texts.flatMap((text) =>
    [...text.matchAll(/'([a-z0-9]+(?:-[a-z0-9]+)+)'/g)].map(([, code = '']) => code),
  )
  const made = texts.some((text) => text.includes('unknown-$' + '{key}')) ? ['role', 'resource', 'action'] : []
  return [...new Set([...quoted, ...made.map((key) => `unknown-${key}`)])].filter((code) => !OTHER.includes(code))
}
