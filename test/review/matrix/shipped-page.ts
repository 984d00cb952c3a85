/** The page of the shipped policy's matrix, opened anew for each test; it must ask for nothing and complain of nothing. */
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import { loadPolicy } from '../../../src/tools/load-policy.ts'
import { MATRIX_FORMATS } from '../../../src/tools/permissions/formats.ts'
import { buildMatrix, chooseColumns, type Matrix } from '../../../src/tools/permissions/matrix.ts'
import { startChromium } from '../../chromium.ts'
import { type OpenPage, openPage } from './open-page.ts'

const { html: matrixPage, json: matrixJson } = MATRIX_FORMATS

interface JsonCell {
  readonly caller: string
  readonly outcome: string
  readonly granted: string
  readonly fields: readonly string[]
  readonly views: readonly string[]
  readonly rules: readonly { readonly place: string }[]
}

/** A row of `--format json`. */
export interface JsonRow {
  readonly resource: string
  readonly path: string
  readonly methods: readonly string[]
  readonly relation: string
  readonly becomes?: string
  readonly fields: readonly string[]
  readonly cells: readonly JsonCell[]
}

export async function shippedMatrix(): Promise<Matrix> {
  const resources = await loadResources('schemas')
  const reviewed = await loadPolicy('policies', resources)
  return buildMatrix(reviewed, { resources, columns: chooseColumns(reviewed.policy, []), only: undefined, now: 0 })
}

/** What a test has of the page while it runs. */
export interface ShippedPage {
  open: OpenPage
  rows: readonly JsonRow[]
}

/** Registers the hooks of the suite that calls it. */
export function withShippedPage(): ShippedPage {
  let browser: Browser
  let html: string
  const shipped = {} as ShippedPage

  before(async () => {
    browser = await startChromium()
    const matrix = await shippedMatrix()
    html = matrixPage(matrix)
    shipped.rows = JSON.parse(matrixJson(matrix)).rows
  })
  after(() => browser.close())

  beforeEach(async () => {
    shipped.open = await openPage(browser, html)
  })
  afterEach(async () => {
    const { page, requests, troubles, close } = shipped.open
    expect(requests).not.to.deep.equal([])
    expect(requests.filter((url) => url !== page.url().replace(/#.*/, ''))).to.deep.equal([])
    expect(troubles).to.deep.equal([])
    await close()
  })
  return shipped
}

/** The index of the row for a method and path. */
export function placeOf(rows: readonly JsonRow[], method: string, path: string, relation: string): number {
  return rows.findIndex((row) => row.methods.includes(method) && row.path === path && row.relation === relation)
}

export function columnOf([row]: readonly JsonRow[], caller: string): number {
  return row?.cells.findIndex((cell) => cell.caller === caller) ?? -1
}
