/** Cells that end: a matrix is about one time, and says of each cell until when it stays as it is. */
import { AssertionError, expect } from 'chai'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { timeText } from '../../../src/base/time.ts'
import { blocksText } from '../../../src/present/report.ts'
import type { MatrixCell } from '../../../src/tools/permissions/cell.ts'
import { MATRIX_FORMATS } from '../../../src/tools/permissions/formats.ts'
import type { Matrix } from '../../../src/tools/permissions/matrix.ts'
import { matrixTable as tableBlocks } from '../../../src/tools/permissions/to-table.ts'
import { startChromium } from '../../chromium.ts'
import { ENDS, endingPolicy, randomTime } from '../../policy/arbitrary-policy.ts'
import { filesOf } from '../../policy/render.ts'
import { matrixOf } from './fixture.ts'
import { openPage } from './open-page.ts'

const { html: matrixPage, csv: matrixCsv, json: matrixJson } = MATRIX_FORMATS
const matrixTable = (matrix: Matrix, width: number) => blocksText(tableBlocks(matrix, width))

const RULES = [
  'p, a, docs, read, any, *, allow, until=2031-01-01T00:00:00Z',
  'p, a, docs, delete, any, *, allow',
  'p, user:bob, docs, delete, any, *, allow',
  'p, a, docs, list, any, *, deny, until=2031-01-01T01:00:00+01:00',
  'p, a, docs, list, any, *, allow',
  'p, a, docs, update, any, *, allow, until=2032-01-01T00:00:00.500Z',
  'p, a, docs, replace, any, *, allow, until=2032-01-01T00:00:00.500Z',
  'p, a, docs, replace, any, *, allow',
]

function shipped(now: number): Matrix {
  const files = filesOf({ 'policy.csv': RULES.join('\n'), 'roles.yaml': 'a: { description: A. }\n' })
  return matrixOf({ files, now, blocked: 'user:bob until=2033-01-01T00:00:00Z', only: ['docs'] })
}

/** Of the column `a`, by method; of `/docs/{id}` but for lists. */
function cellOf({ columns, rows }: Matrix, method: string, caller = 'a'): MatrixCell {
  const path = method === 'LIST' ? '/docs' : '/docs/{id}'
  const row = rows.find(
    (one) => one.path === path && one.methods.some((name) => name === method.replace('LIST', 'GET')),
  )
  const cell = row?.cells[columns.findIndex(({ name }) => name === caller)]
  if (!cell) throw new Error(`no cell for ${method}`)
  return cell
}

describe('a matrix in time', () => {
  it('says of each cell until when it stays, of allows, denies and blocks', () => {
    const matrix = shipped(Date.parse('2030-01-01T00:00:00Z'))
    const said = (method: string, caller?: string) => {
      const { outcome, until } = cellOf(matrix, method, caller)
      return [outcome, until === undefined ? undefined : timeText(until)]
    }
    expect(said('GET')).to.deep.equal(['allowed', '2031-01-01T00:00:00Z'])
    expect(said('LIST')).to.deep.equal(['denied', '2031-01-01T00:00:00Z'])
    expect(said('PATCH')).to.deep.equal(['allowed', '2032-01-01T00:00:00.500Z'])
    expect(said('PUT')).to.deep.equal(['allowed', undefined])
    expect(said('DELETE')).to.deep.equal(['allowed', undefined])
    expect(said('DELETE', 'user:bob')).to.deep.equal(['denied', '2033-01-01T00:00:00Z'])
  })

  it('is about the time that is asked for', () => {
    const outcomes = ['2030-12-31T23:59:59.999Z', '2031-01-01T00:00:00Z'].map((at) =>
      ['GET', 'LIST'].map((method) => cellOf(shipped(Date.parse(at)), method).outcome),
    )
    expect(outcomes).to.deep.equal([
      ['allowed', 'denied'],
      ['denied', 'allowed'],
    ])
  })

  it('tells it in every form', async () => {
    const matrix = shipped(0)
    const table = matrixTable(matrix, 120)
    expect(table).to.match(/^ {2}GET HEAD any .* all ~1/m)
    expect(table).to.match(/^~1 +until 2031-01-01T00:00:00Z, when a rule or a block ends$/m)
    expect(table).to.match(/^~2 +until 2032-01-01T00:00:00\.500Z/m)
    const lines: Record<string, string>[] = parse(matrixCsv(matrix), { columns: true })
    const json: { rows: { cells: { until?: string }[] }[] } = JSON.parse(matrixJson(matrix))
    const untils = json.rows.flatMap(({ cells }) => cells.map(({ until = '' }) => until))
    expect(lines.map(({ until }) => until)).to.deep.equal(untils)
    expect(new Set(untils)).to.include('2031-01-01T00:00:00Z').and.to.include('')
    const browser = await startChromium()
    try {
      const page = await openPage(browser, matrixPage(matrix))
      await page.page.locator('td small').first().click()
      expect(await page.page.getByRole('dialog').innerText()).to.contain(
        'This answer is valid until 2031-01-01T00:00:00Z.',
      )
      expect(page.troubles).to.deep.equal([])
      await page.close()
    } finally {
      await browser.close()
    }
  })

  it('names no end where nothing ends', () => {
    const files = filesOf({ 'policy.csv': 'p, everyone, docs, read, any, *, allow' })
    const matrix = matrixOf({ files })
    for (const text of [matrixTable(matrix, 120), matrixJson(matrix)]) expect(text).not.to.match(/until|~/)
  })

  /** At any later time before the cell's end it is the same, and at its end it isn't. */
  const staysUntil = (endOf: (cell: MatrixCell) => number) =>
    fc.property(endingPolicy, randomTime, ({ files }, now) => {
      const at = (time: number) => matrixOf({ files, now: time, callers: ['everyone', 'anonymous', 'user:u1'] })
      for (const end of ENDS.filter((one) => one > now)) {
        // What comes after its end isn't said of a cell.
        const told = pairsOf(at(now), at(end)).filter(([cell]) => end <= endOf(cell))
        const same = told.map(([cell, then]) => meaningOf(cell) === meaningOf(then))
        expect(same).to.deep.equal(told.map(([cell]) => end < endOf(cell)))
      }
    })

  it('is right about every end', () => {
    fc.assert(
      staysUntil(({ until = Number.POSITIVE_INFINITY }) => until),
      { numRuns: 60 },
    )
  })

  it('an end that was not told would be found', () => {
    const outcome = fc.check(
      staysUntil(() => Number.POSITIVE_INFINITY),
      { seed: 1, numRuns: 200, endOnFailure: true },
    )
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })
})

/** The cells of rows that both have: when rules end, fewer relations may count. */
function pairsOf(before: Matrix, after: Matrix): readonly (readonly [MatrixCell, MatrixCell])[] {
  const key = ({ path, action, relation }: Matrix['rows'][number]) => [path, action, relation].join()
  const later = new Map(after.rows.map((row) => [key(row), row.cells]))
  return before.rows.flatMap((row) =>
    row.cells.flatMap((cell, i): readonly (readonly [MatrixCell, MatrixCell])[] => {
      const then = later.get(key(row))?.[i]
      return then ? [[cell, then]] : []
    }),
  )
}

function meaningOf({ outcome, granted, fields }: MatrixCell): string {
  return JSON.stringify([outcome, granted, fields])
}
