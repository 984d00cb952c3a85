/** A matrix as a table, CSV and JSON: each says the same, fits where it goes, and is safe there. */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { blocksText } from '../../../src/present/report.ts'
import { MATRIX_FORMATS } from '../../../src/tools/permissions/formats.ts'
import type { Matrix } from '../../../src/tools/permissions/matrix.ts'
import { matrixTable as tableBlocks } from '../../../src/tools/permissions/to-table.ts'
import { randomPolicy } from '../../policy/arbitrary-policy.ts'
import { filesOf } from '../../policy/render.ts'
import { matrixOf, routed } from './fixture.ts'

const { csv: matrixCsv, json: matrixJson } = MATRIX_FORMATS
const matrixTable = (matrix: Matrix, width: number) => blocksText(tableBlocks(matrix, width))

const schema = JSON.parse(
  readFileSync(new URL('../../../docs/schemas/policy-matrix.schema.json', import.meta.url), 'utf8'),
)
const fitsSchema = new Ajv2020({ allErrors: true }).compile(schema)

function policyOf(rules: string, roles = 'a: { description: The a. }\n', views = 'docs: { few: [id, secret] }\n') {
  const ownership = 'docs: { relations: { owner: ownerId } }\n'
  return filesOf({ 'policy.csv': rules, 'roles.yaml': roles, 'ownership.yaml': ownership, 'views.yaml': views })
}

describe('a matrix as JSON', () => {
  it('has the shape that docs/schemas promises, whatever the policy', () => {
    fc.assert(
      fc.property(randomPolicy, ({ files }) => {
        fitsSchema(JSON.parse(matrixJson(matrixOf({ files }))))
        expect(fitsSchema.errors).to.equal(null)
      }),
      { numRuns: 40 },
    )
  })

  it('of another shape would be found', () => {
    const document = JSON.parse(matrixJson(matrixOf({ files: policyOf('') })))
    document.rows[0].cells[0].outcome = 'maybe'
    expect(fitsSchema(document)).to.equal(false)
  })

  it('is the same each time, and has the rules with their text', () => {
    const rules = '\n# first\np, a,  docs, read, owner, few, allow\r\np, "user:x,y", docs, delete, any, *, deny\n'
    const text = matrixJson(matrixOf({ files: policyOf(rules) }))
    expect(matrixJson(matrixOf({ files: policyOf(rules) }))).to.equal(text)
    expect(JSON.parse(text).rules).to.deep.equal([
      { place: 'policy.csv:3', effect: 'allow', text: 'p, a,  docs, read, owner, few, allow' },
      { place: 'policy.csv:4', effect: 'deny', text: 'p, "user:x,y", docs, delete, any, *, deny' },
    ])
  })
})

describe('a matrix as CSV', () => {
  it('says of each cell what the JSON says', () => {
    fc.assert(
      fc.property(randomPolicy, ({ files }) => {
        const matrix = matrixOf({ files })
        const table: Record<string, string>[] = parse(matrixCsv(matrix), { columns: true })
        const cells = table.map((line) => [line.caller, line.methods, line.path, line.outcome, line.fields, line.rules])
        expect(cells).to.deep.equal(cellsOf(matrix))
      }),
      { numRuns: 40 },
    )
  })

  it('quotes every cell, and no cell begins as a formula does, whatever ids and fields are called', () => {
    for (const start of ['=', '+', '-', '@', '\t=', '＝', '|']) {
      const name = `${start}cmd("x"),'y`
      const docs = routed(undefined)
      const resource = docs.byName.get('docs')
      if (!resource) throw new Error('no docs')
      const field = { ...required(resource.fields.get('id')), name }
      const renamed = { ...resource, fields: new Map([[name, field]]) }
      const resources = { byName: new Map(docs.byName).set('docs', renamed), routes: docs.routes }
      const rule = `p, "user:${name.trim().replaceAll('"', '""')}", docs, read, any, *, allow`
      const ownerless = filesOf({ 'policy.csv': rule })
      const lines: string[][] = parse(matrixCsv(matrixOf({ files: ownerless, resources })), { columns: false })
      expect(lines.flat().filter((cell) => /^\s*[=+\-@|＝]/.test(cell))).to.deep.equal([])
      expect(lines.flat(), start).to.include(`'${name}`)
    }
  })

  it('ends its lines as RFC 4180 says', () => {
    const text = matrixCsv(matrixOf({ files: policyOf('') }))
    expect(text.replaceAll('\r\n', '')).not.to.match(/[\r\n]/)
    expect(text.split('\r\n')[0]).to.match(/^"caller",/)
  })
})

describe('a matrix as a table', () => {
  const rules = 'p, a, docs, read, owner, few, allow\np, a, docs, delete, any, *, allow'

  it('tells who can do what in a word', () => {
    const table = matrixTable(matrixOf({ files: policyOf(rules), callers: ['everyone', 'a'] }), 80)
    expect(table).to.match(/^DOCS +everyone +a$/m)
    expect(table).to.match(/^ \/docs\/\{id\}\n {2}GET HEAD none +- +-\n {2}GET HEAD owner +- +few$/m)
    expect(table).to.match(/^ {2}DELETE {3}any +- +all$/m)
    expect(table).to.match(/^none +no relation that rules name/m)
  })

  it('fits the terminal, with as many blocks of callers as it takes', () => {
    const roles = Array.from({ length: 30 }, (_, i) => `a-role-${i}: { description: One of many. }\n`).join('')
    const matrix = matrixOf({ files: policyOf('', roles) })
    for (const width of [70, 80, 200]) {
      const table = matrixTable(matrix, width)
      expect(Math.max(...table.split('\n').map((line) => line.length))).to.be.at.most(width)
      for (let i = 0; i < 30; i++) expect(table).to.match(new RegExp(`^DOCS.* a-role-${i}\\b`, 'm'))
    }
  })

  it('tells long names apart, in full below, and shows what a terminal would act on', () => {
    const long = (end: string) => `user:${'x'.repeat(100)}${end}`
    const matrix = matrixOf({ files: policyOf(''), callers: [long('1'), long('2'), 'user:a\u202Eb'] })
    const table = matrixTable(matrix, 120)
    const [first, second] = [long('1'), long('2')].map((name) => new RegExp(`^(\\S+) +${name}$`, 'm').exec(table)?.[1])
    expect(first).to.match(/…#1$/)
    expect(second).to.match(/…#2$/)
    expect(table).to.contain(first).and.to.contain('user:a\\u{202e}b').and.not.to.contain('\u202E')
  })

  it('is fine without any row or caller that can do anything', () => {
    expect(matrixTable(matrixOf({ files: policyOf(''), only: [] }), 80)).to.contain('Who can do what')
  })
})

function cellsOf({ columns, rows }: Matrix): readonly (readonly string[])[] {
  return rows.flatMap(({ methods, path, cells }) =>
    cells.map(({ outcome, fields, rules }, i) => [
      columns[i]?.name ?? '',
      methods.join(' '),
      path,
      outcome,
      fields.join(' '),
      rules.map(({ line }) => `policy.csv:${line}`).join(' '),
    ]),
  )
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('missing')
  return value
}
