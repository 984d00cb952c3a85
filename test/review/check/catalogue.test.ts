/** docs/checks.md explains every code that a check or the parser can report, and no other. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { MOST_CLIMBED } from '../../../src/store/lists/read-bounds.ts'
import { codesExplained, WARNINGS } from '../../../src/tools/check/catalogue.ts'

const PAGE = readFileSync(new URL('../../../docs/checks.md', import.meta.url), 'utf8')
const OF_SUPPRESSIONS = ['suppression-unused', 'suppression-form', 'suppression-unknown-code']
const PARSER = new URL('../../../src/policy/', import.meta.url)
const KINDS = ['relations', 'request-conditions'].map(
  (name) => new URL(`../../../src/decide/${name}/`, import.meta.url),
)
const GUARANTEES = new URL('../../../src/analysis/guarantees/faults.ts', import.meta.url)
/** An error for a wall with a gap, and a warning for other lines about every resource. */
const ERROR_AND_WARNING = 'relation-gap'
/** Texts that look like codes. */
const OTHER = ['utf-8', 'api-key', '2-digit', 'now-1000d', 'at-most', 'ssh-ed25519', 'break-glass']

describe('docs/checks.md', () => {
  it('explains every warning once, and no other, in the order of the checks', () => {
    expect(codesOf('warning')).to.deep.equal([...WARNINGS, ...OF_SUPPRESSIONS])
    expect(codesOf('warning', PAGE.replace(/^\| `former-word` .*\n/m, ''))).to.not.include('former-word')
  })

  it('explains every error that the parser can report once, and no other', () => {
    const reported = codesInParser().filter((code) => code !== ERROR_AND_WARNING)
    expect(reported.length).to.be.greaterThan(25)
    expect(codesOf('error').toSorted()).to.deep.equal(reported.toSorted())
  })

  it('has a row for each code that can be read as one: what it means, and what to do', () => {
    const rows = PAGE.match(/^\| `[a-z0-9-]+` \|.*\|$/gm)?.filter((row) => row.split(' | ').length === 3)
    const read = codesExplained().map(({ code, meaning, fix }) => `| \`${code}\` | ${meaning} | ${fix} |`)
    expect(read).to.deep.equal(rows)
  })

  it('speaks in sentences without a period at the end', () => {
    const texts = codesExplained().flatMap(({ meaning, fix }) => [meaning, fix])
    expect(texts.filter((text) => !/^[A-Z`].*[^.]$/.test(text))).to.deep.equal([])
  })

  it('names the number of objects that a climb may meet', () => {
    const { meaning } = codesExplained().find(({ code }) => code === 'wide-climb') ?? {}
    expect(meaning).to.include(` ${MOST_CLIMBED.toLocaleString('en-US')} objects`)
  })
})

function codesOf(wanted: string, page = PAGE): readonly string[] {
  return codesExplained(page).flatMap(({ code, severity }) => (severity === wanted ? [code] : []))
}

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
