/** Coverage tells what nothing is said about, and which rules could go without anyone noticing. */
import { readFileSync } from 'node:fs'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { measureCoverage, partsOf, percentOf } from '../../src/tools/matrix/coverage/coverage.ts'
import { COVERAGE_FORMATS } from '../../src/tools/matrix/coverage/report.ts'
import { MUTATE_FORMATS } from '../../src/tools/matrix/mutate/formats.ts'
import { mutate } from '../../src/tools/matrix/mutate/judge-mutant.ts'
import { startChromium } from '../chromium.ts'
import { withoutStates, withoutSteps, withRules } from '../policy-text.ts'
import { openPage } from '../review/matrix/open-page.ts'
import { folderOf, newFolder, ROOT, suiteOf, suiteOfText, suiteWith } from './predict/suites.ts'

const { text: formatText, json: formatJson, html: coveragePage } = COVERAGE_FORMATS
const { text: formatMutation } = MUTATE_FORMATS

const SCHEMA = JSON.parse(readFileSync(join(ROOT, 'docs/schemas/matrix-coverage.schema.json'), 'utf8'))
const validate = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true }).compile(
  SCHEMA,
)

const OWNERSHIP = readFileSync(join(ROOT, 'policies/ownership.yaml'), 'utf8')
const RULES = readFileSync(join(ROOT, 'policies/policy.csv'), 'utf8')

/** The shipped policy with a relation of orders more, which a rule about updates names. */
function withRelation(text: string, name = 'shipped') {
  return {
    'ownership.yaml': withoutStates(OWNERSHIP).replace(/^( *)draft: .*$/m, `$&\n$1${text}`),
    'policy.csv': withRules(withoutSteps(RULES), `p, support, orders, update, ${name}, *, allow`),
  }
}

const NOTES = 'method,path,object,member\nGET,/api/v1/notes/{id},own,200\nGET,/api/v1/notes/{id},other,403\n'

describe('sallyport matrix coverage', () => {
  it('finds nothing missing in the shipped matrices', async () => {
    const coverage = await measureCoverage(await suiteOf(join(ROOT, 'test/matrix')))
    const { cells, rules, terms, results, unmet } = coverage
    const open = [...cells, ...partsOf(coverage).filter(({ redundant }) => !redundant)].filter(
      ({ covered }) => !covered,
    )
    expect(open).to.deep.equal([])
    expect(terms.length).to.be.greaterThan(10)
    expect(results.length).to.equal(4)
    expect(unmet).to.equal(0)
    expect(cells.length).to.be.greaterThan(600)
    expect(rules.length).to.equal(40)
  })

  it('takes a body file as a statement about what it leaves', async () => {
    const becomes = async (body: string) => {
      const row = `PATCH,/api/orders/{id},owner+draft+open,${body},200\n`
      const folder = await newFolder()
      await cp(join(ROOT, 'test/matrix/bodies'), join(folder, 'bodies'), { recursive: true })
      await writeFile(join(folder, 'some.csv'), `method,path,object,body,member\n${row}`)
      const { cells } = await measureCoverage(await suiteOf(folder))
      return cells.flatMap(({ covered, object }) => (covered ? [object] : []))
    }
    expect(await becomes('order-place.json')).to.deep.equal([
      'draft+open+owner',
      'draft+open+owner becomes draft>placed',
    ])
    expect(await becomes('order-note.json')).to.deep.equal(['draft+open+owner'])
  })

  it('tells terms and right sides that the matrices show in one way only', async () => {
    const shown = async (...rows: readonly string[]) => {
      const coverage = await measureCoverage(
        await suiteOfText(['method,path,object,becomes,support', ...rows, ''].join('\n')),
      )
      const ofShipping = [...coverage.terms, ...coverage.results].filter(({ text }) => text.includes('placed>shipped'))
      const text = formatText(coverage)
      return ofShipping.map((part) => {
        if (!part.covered) expect(text).to.include(`  ${part.place}  ${part.text}\n`)
        return part.covered ? 'both ways' : part.text.replace(/^.*: /, '')
      })
    }
    const shipped = 'PATCH,/api/orders/{id},open+placed,open+placed>shipped,200'
    const again = 'PATCH,/api/orders/{id},draft+open,draft+open>shipped,403'
    const back = 'PATCH,/api/orders/{id},open+placed,placed>draft,403'
    const [never, always] = ['is never seen to hold', 'is never seen not to hold'].map((one) => `\`placed\` ${one}`)
    const none = (fits: string) => `no result that ${fits} \`shipped\` is seen`
    expect(await shown(back)).to.deep.equal([never, none('fits')])
    expect(await shown(shipped)).to.deep.equal([always, none("doesn't fit")])
    expect(await shown(shipped, again)).to.deep.equal(['both ways', none("doesn't fit")])
    expect(await shown(shipped, again, back)).to.deep.equal(['both ways', 'both ways'])
  })

  it('names what another right of a command decides already, as neither covered nor missing', async () => {
    const row = 'method,path,object,support\nPOST,/api/orders/{id}/cancel,draft+open,200\n'
    const measure = async (from: string, to: string) => {
      const text = readFileSync(join(ROOT, 'policies/policy.csv'), 'utf8')
      expect(text).to.include(from)
      return measureCoverage(await suiteWith({ 'policy.csv': text.replace(from, to) }, await folderOf(row)))
    }
    const term = /cancel, open, progress, allow: `open` is never seen not to hold/
    const coverage = await measure('open>cancelled', 'open>cancelled')
    const { terms } = JSON.parse(formatJson(coverage))
    expect(validate(JSON.parse(formatJson(coverage))), JSON.stringify(validate.errors)).to.equal(true)
    expect(terms.redundant.map(({ text }: { text: string }) => text))
      .to.match(term)
      .and.have.length(1)
    expect(terms.total).to.equal(coverage.terms.length - 1)
    expect(JSON.stringify(terms.missing)).to.not.match(term)
    expect(formatText(coverage)).to.match(
      /^Parts without which no decision differs.*\n {2}policy\.csv:\d+ .*`open` is/m,
    )
    // Where the rule about `update` lets support cancel any order, the term decides.
    const wider = JSON.parse(formatJson(await measure('update,    open>cancelled', 'update,    any>cancelled')))
    expect(wider.terms).to.not.have.property('redundant')
    expect(JSON.stringify(wider.terms.missing)).to.match(term)
  })

  it('tells cells without an expectation, and rules that none depends on', async () => {
    const coverage = await measureCoverage(await suiteOfText(NOTES))
    expect(percentOf(coverage.cells)).to.be.lessThan(1)
    const covered = coverage.rules.filter((rule) => rule.covered).map(({ text }) => text)
    expect(covered).to.deep.equal(['p, member, notes, list|read|create|replace|update|delete, owner, *, allow'])
    expect(coverage.relations.filter((one) => one.covered).map(({ text }) => text)).to.deep.equal(['notes: owner'])
    const text = formatText(coverage)
    expect(text).to.match(/^ {2}policy\.csv:\d+ {2}p, auditor, \*, create\|replace\|update\|delete, any, \*, deny$/m)
    expect(text).to.match(/^ {2}GET \/api\/v1\/notes\/\{id\} \(own\): support, auditor, admin, pdp-client$/m)
  })

  it('knows each way in which two states of one field tell objects apart', async () => {
    const { cells, unasked } = await measureCoverage(
      await suiteWith(withRelation('shipped: { field: status, in: [shipped] }')),
    )
    const update = cells.filter(({ method, path }) => method === 'PATCH' && path === '/api/orders/{id}')
    const objects = [...new Set(update.map(({ object }) => object))]
    expect(objects).to.include.members(['own', 'other', 'shipped', 'owner+shipped', 'draft+owner'])
    expect(objects.filter((object) => object.includes('draft') && object.includes('shipped'))).to.deep.equal([])
    expect(unasked).to.deep.equal([])
  })

  it("lists what can't be asked, as neither stated nor missing", async () => {
    const suite = await suiteWith(
      withRelation('lost: { field: note, equals: subject.nowhere }', 'lost'),
      ...['orders.csv', 'pairs.csv'].map((name) => join(ROOT, 'test/matrix', name)),
    )
    const coverage = await measureCoverage(suite)
    const { object, column, why } = coverage.unasked[0] ?? {}
    expect([object, column]).to.deep.equal(['lost', 'member'])
    expect(why).to.include("callers can't have the attribute `nowhere`: add it as a field to the schema `users`")
    expect(coverage.cells.filter((cell) => cell.object.includes('lost'))).to.deep.equal([])
    expect(formatText(coverage)).to.match(
      /^ {2}PATCH \/api\/orders\/\{id\} \(lost\): member, support, auditor, admin, pdp-client, auditor\+member$/m,
    )
    expect(formatText(coverage)).to.match(/^cells .*, and \d+ that can't be asked$/m)
    expect(coveragePage(coverage)).to.match(/<h2>\d+ cells that can't be asked<\/h2>/)
    const json = JSON.parse(formatJson(coverage))
    expect(validate(json), JSON.stringify(validate.errors)).to.equal(true)
    expect(validate({ ...json, unasked: [{ ...json.unasked[0], covered: true }] })).to.equal(false)
    const mutation = await mutate(suite, { only: new Set(['flip-conceal']), observe: () => undefined })
    expect(formatMutation(mutation)).to.match(
      /^\d+ cells can't be asked, so no expectation can notice a mistake there/m,
    )
  })

  it('says how many expectations the policy does not meet', async () => {
    const coverage = await measureCoverage(await suiteOfText(NOTES.replace('other,403', 'other,200')))
    expect(coverage.unmet).to.equal(1)
    expect(formatText(coverage)).to.match(/^left out: 1 expectation that the present policy does not meet: /m)
  })

  it('prints JSON that keeps to its schema', async () => {
    const json = JSON.parse(formatJson(await measureCoverage(await suiteOfText(NOTES))))
    expect(validate(json), JSON.stringify(validate.errors)).to.equal(true)
    expect(json.cells.missing.length).to.equal(json.cells.total - json.cells.covered)
    expect(json.terms.missing.length).to.equal(json.terms.total - json.terms.covered)
    expect(validate({ ...json, more: 1 })).to.equal(false)
    expect(validate({ ...json, results: undefined })).to.equal(false)
    expect(validate({ ...json, rules: { ...json.rules, missing: [{ place: 1 }] } })).to.equal(false)
  })

  it('prints a page that runs nothing and shows names as text', async () => {
    const rules = readFileSync(join(ROOT, 'policies/policy.csv'), 'utf8')
    const hostile = withRules(rules, 'p, "user:<img src=x onerror=alert(1)>", notes, read, any, *, allow')
    const page = coveragePage(await measureCoverage(await suiteWith({ 'policy.csv': hostile }, await folderOf(NOTES))))
    expect(page).to.include('user:&lt;img src=x onerror=alert(1)&gt;')
    expect(page).to.not.include('<img')
    expect(page).to.not.include('<script')
    expect(page).to.match(/Content-Security-Policy" content="default-src 'none'; style-src 'sha256-/)
  })

  describe('as a page', () => {
    let browser: Browser
    before(async () => {
      browser = await startChromium()
    })
    after(() => browser.close())

    it('shows open cells first, with what the policy answers, and can be narrowed', async () => {
      const { page, troubles, close } = await openPage(
        browser,
        coveragePage(await measureCoverage(await suiteOfText(NOTES))),
      )
      const first = page.locator('.resource').first()
      expect(await first.locator('h2').innerText()).to.match(/^orders \d+ open$/)
      const notes = page.locator('.resource', { hasText: 'GET /api/v1/notes/{id} (own)' })
      const own = notes.locator('.row', { hasText: 'GET /api/v1/notes/{id} (own)' }).first()
      expect(await own.locator('td').allInnerTexts()).to.deep.equal([
        '–',
        '200',
        '200 open',
        '200 open',
        '200 open',
        '403 open',
        '–',
        '–',
        '–',
      ])
      expect(await notes.locator('.row').last().innerText()).to.match(/^GET \/api\/v1\/notes\/\{id\} \(o/)

      await page.locator('#resource').selectOption('notes')
      expect(await page.locator('.resource:visible').count()).to.equal(1)
      const rows = await page.locator('.row:visible').count()
      await page.locator('#caller').selectOption('member')
      expect(await own.locator('td:visible').allInnerTexts()).to.deep.equal(['200'])
      await page.locator('#open').check()
      expect(await own.isVisible()).to.equal(false)
      expect(await page.locator('.row:visible').count()).to.equal(rows - 2)
      await page.locator('#caller').selectOption('admin')
      expect(await own.isVisible()).to.equal(true)
      expect(troubles).to.deep.equal([])
      await close()
    })
  })
})
