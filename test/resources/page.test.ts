/** docs/schemas.md names all that a schema file may say, and nothing that it may not; its examples are sound. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { SCHEMA_CODES } from '../../src/resources/check/codes.ts'
import { FORMATS, KEYWORDS } from '../../src/resources/check/keywords.ts'
import { parseResources } from '../../src/resources/load/load-resources.ts'
import { unboundedFields } from '../../src/resources/schema/bounds.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const PAGE = read('docs/schemas.md')
const X_RESOURCE = JSON.parse(read('src/resources/schemas/x-resource.schema.json'))

/** The lines of a table whose head begins so, without head and rule. */
function rowsOf(page: string, head: string): readonly string[] {
  const [, table = ''] = page.split(`\n${head}`)
  const rows = table.split('\n').slice(2)
  return rows.slice(
    0,
    Math.max(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    ),
  )
}

/** What stands in backticks in a cell (counted from 1) of each row. */
function namesIn(rows: readonly string[], cell: number): readonly string[] {
  return rows.flatMap((row) =>
    [...(row.split(' | ')[cell - 1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''),
  )
}

describe('docs/schemas.md', () => {
  it('lists every keyword that a schema file may use, and no other', () => {
    const written = [
      ...namesIn(rowsOf(PAGE, '| about | keywords |'), 2),
      ...namesIn(rowsOf(PAGE, '| keyword | meaning |'), 1),
      '$schema',
      'x-resource',
      'x-history',
    ]
    expect(written).to.have.members([...KEYWORDS])
    expect(PAGE).to.include('`$schema`, `x-resource` and `x-history` stand at the top of the file')
  })

  it('lists every format, and no other', () => {
    const formats = rowsOf(PAGE, '| keyword | what differs').find((row) => row.startsWith('| `format`'))
    const [, list = ''] = formats?.split('is one of') ?? []
    expect([...(list.split('. ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name)).to.have.members([
      ...FORMATS,
    ])
  })

  it('lists every option of a route, and no other', () => {
    const options = Object.keys(X_RESOURCE.$defs.route.properties)
    expect(namesIn(rowsOf(PAGE, '| option | value'), 1)).to.have.members(options)
  })

  it('lists every code of a fault with what to do about it', () => {
    const rows = rowsOf(PAGE, '| code | what to do |')
    expect(namesIn(rows, 1)).to.deep.equal(Object.keys(SCHEMA_CODES))
    for (const [i, hint] of Object.values(SCHEMA_CODES).entries()) {
      expect(rows[i]?.toLowerCase()).to.include(hint.toLowerCase())
    }
  })

  it('shows schema files that the server takes', () => {
    const examples = [...PAGE.matchAll(/```json\n([^`]*)```/g)].map(([, text = '']) => text)
    expect(examples).to.have.length.greaterThan(1)
    const sources = examples.map((text) => ({ name: `${String(JSON.parse(text).title).toLowerCase()}s.json`, text }))
    const { byName } = parseResources(sources)
    expect([...byName.keys()]).to.include.members(['tickets', 'invoices'])
    expect(byName.get('invoices')?.actions.has('archive')).to.equal(true)
  })

  it('shows schema files that bound every field', () => {
    const examples = [...PAGE.matchAll(/```json\n([^`]*)```/g)].map(([, text = '']) => text)
    const { byName } = parseResources(examples.map((text, i) => ({ name: `example-${i}.json`, text })))
    const own = [...byName.values()].filter(({ builtIn }) => !builtIn)
    expect(own).to.have.length(examples.length)
    for (const resource of own) expect(unboundedFields(resource), resource.name).to.deep.equal([])
  })
})
