/** A written matrix is the policy as it is: the server answers so, nothing is missing, and it is the same next time. */
import { readFileSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { ToolError } from '../../src/tools/load-policy.ts'
import { statedIn } from '../../src/tools/matrix/cells/survey.ts'
import { type Coverage, measureCoverage, partsOf, percentOf } from '../../src/tools/matrix/coverage/coverage.ts'
import { everywhere, planMatrix } from '../../src/tools/matrix/init/plan-matrix.ts'
import { storeNew, storeOver, textsIn, writeMatrix, writeMissing } from '../../src/tools/matrix/init/write-matrix.ts'
import type { PredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { runCell } from '../../src/tools/matrix/run/run-cell.ts'
import { withoutSteps, withRules } from '../policy-text.ts'
import { soak } from '../runs.ts'
import { startMatrixServer } from './matrix-server.ts'
import { newFolder, ROOT, suiteOf, suiteOfText, suiteWith, writtenFor } from './predict/suites.ts'

const SHIPPED_RULES = readFileSync(join(ROOT, 'policies/policy.csv'), 'utf8')
const MANIFOLD = {
  'ownership.yaml': `notes:
  conceal: true
  relations: { owner: ownerId, tagged: tags, urgent: { field: tags, in: [urgent] } }
orders:
  relations:
    owner: customerId
    draft: { field: status, in: [draft] }
    open: { field: status, in: [draft, placed] }
    euro: { field: currency, in: [EUR] }
accounts:
  relations: { owner: userId, named: { field: name, equals: subject.department } }
users:
  relations: { owner: id, colleague: { field: department, equals: subject.department } }
`,
  'policy.csv': withRules(
    withoutSteps(SHIPPED_RULES),
    `p, anonymous, notes, list|read, urgent, *, allow
p, member, notes, read|list, tagged, *, allow
p, member, users, list|read, colleague, contact, allow
p, support, accounts, list|read, named, balance, allow
p, support, orders, update, euro+open, *, allow
p, member, orders, read|list, draft, progress, deny
p, auditor, orders, read, any, progress, deny, until=2020-01-01T00:00:00Z`,
  ),
}

/** Writes the matrix of a suite, and tries it on a server with these policy files in place of the shipped ones. */
async function roundTrip(
  whole: PredictedSuite,
  files: Readonly<Record<string, string>>,
  narrow: (suite: PredictedSuite) => PredictedSuite,
) {
  const suite = narrow(whole)
  const folder = await newFolder()
  await storeNew(folder, await writtenFor(suite))
  const again = await suiteWith(files, folder)
  const server = await startMatrixServer(again.expectations, {
    files: Object.fromEntries(Object.entries(files).map(([name, text]) => [`policies/${name}`, text])),
  })
  const red: string[] = []
  const waiting = again.expectations.values()
  const work = async () => {
    for (const one of waiting) {
      const { why } = await runCell(server.suite, server, one)
      if (why !== undefined) red.push(`${one.place.file}:${one.place.line} ${why}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
  await server.stop()
  return { stated: again.expectations.length, red, ...percentages(await measureCoverage(narrow(again))) }
}

function percentages(coverage: Coverage) {
  const unseen = partsOf(coverage).filter(({ covered }) => !covered)
  return { cells: percentOf(coverage.cells), unseen: unseen.map(({ text }) => text) }
}

/** In soak all routes, else those of this resource but its commands, and of one that the server itself serves. */
function ofFew(suite: PredictedSuite, name: string): PredictedSuite {
  const few = suite.resources.routes.filter(
    ({ resource, command }) => command === undefined && [name, 'system/health'].includes(resource),
  )
  return { ...suite, resources: { ...suite.resources, routes: soak(suite.resources.routes, few) } }
}

describe('sallyport matrix init', () => {
  it('writes what the server answers, and leaves no cell out', async () => {
    const { stated, red, cells, unseen } = await roundTrip(await suiteOf(), {}, (suite) => ofFew(suite, 'notes'))
    expect(stated).to.be.greaterThan(soak(600, 50))
    expect(cells).to.equal(100)
    // These see all of what everybody sees a part of: `200` is true with and without them. Coverage says so.
    expect(unseen.filter((text) => soak(true, /notes|health/.test(text)))).to.deep.equal([
      'p, auditor, system/health, read, any, *, allow',
      'p, admin, system/health, read, any, *, allow',
    ])
    expect(red).to.deep.equal([])
  })

  it('also of a policy with attributes, lists, several states, concealed objects and ends', async () => {
    const { stated, red, cells } = await roundTrip(await suiteWith(MANIFOLD), MANIFOLD, (suite) =>
      ofFew(suite, 'orders'),
    )
    expect(stated).to.be.greaterThan(soak(800, 150))
    expect(cells).to.equal(100)
    expect(red).to.deep.equal([])
  })

  it('would not be what a server with another policy answers', async () => {
    const ofNotes = (suite: PredictedSuite) => {
      const routes = suite.resources.routes.filter(({ resource }) => resource === 'notes')
      return { ...suite, resources: { ...suite.resources, routes } }
    }
    expect((await roundTrip(await suiteOf(), MANIFOLD, ofNotes)).red).to.not.be.empty
  })

  it('writes the same bytes again', async () => {
    expect(await writtenFor(await suiteOf())).to.deep.equal(await writtenFor(await suiteOf()))
  })

  it('says views and whose objects a list holds, where they fit exactly', async () => {
    const texts = new Map((await writtenFor(await suiteOf())).map(({ name, text }) => [name, text]))
    expect(texts.get('orders.csv')).to.match(/^GET\|HEAD,\/api\/orders,none,,,401,200 \[own\],200 \[all\],/m)
    expect(texts.get('users.csv')).to.match(/^GET\|HEAD,\/profile\/\{id\},other,,200 public,/m)
    expect(texts.get('users.csv')).to.match(/^GET\|HEAD,\/api\/users,none,,401,403,200 contact,200 \[all\],/m)
  })

  it('says what a write must leave: new objects in each state, and transitions that a term decides', async () => {
    const orders = (await writtenFor(await suiteOf())).find(({ name }) => name === 'orders.csv')?.text
    const rows = [
      'POST,/api/orders,none,draft+open+owner,,-,201,201,403,201,403,403,-,-',
      'POST,/api/orders,none,open+owner+placed,,-,403,403,403,201,403,403,-,-',
      'POST,/api/orders,none,draft+open,,401,403,403,403,201,403,403,-,-',
      'PATCH,/api/orders/{id},draft+open+owner,draft>placed,,-,200,200,403,200,403,403,-,-',
      'PATCH,/api/orders/{id},draft+open,draft>placed,,401,403,403,403,200,403,403,-,-',
      'PATCH,/api/orders/{id},open+placed,open+placed>shipped,,401,403,200,403,200,403,403,-,-',
      'PATCH,/api/orders/{id},shipped,shipped>cancelled,,401,403,403,403,200,403,403,-,-',
    ]
    expect(orders?.split('\n')).to.include.members(rows)
    // A redirect is answered before what it would leave counts.
    const notes = (await writtenFor(await suiteOf())).find(({ name }) => name === 'notes.csv')?.text
    expect(notes?.match(/^POST,\/notes,.*$/gm)).to.have.length(1)
  })

  it('takes the columns of the matrices that are there', async () => {
    const suite = await suiteOf(join(ROOT, 'test/matrix'))
    const [head] = ((await writtenFor(suite))[0]?.text ?? '').split('\n')
    expect(head).to.equal(
      'method,path,object,anonymous,member,support,auditor,admin,pdp-client,auditor+member,auditor+support,admin+auditor,everyone',
    )
  })

  it('writes only what is missing when asked', async () => {
    const suite = await suiteOfText(
      'method,path,object,member\nGET|HEAD|OPTIONS,/api/v1/notes,none,-\nPOST,/api/v1/notes,none,201\n',
    )
    const plan = await planMatrix(suite, everywhere({ kind: 'roles', roles: ['member'] }), statedIn(suite))
    const [notes] = writeMatrix(plan, '.missing').filter(({ name }) => name === 'notes.missing.csv')
    expect(notes?.text).to.match(/^GET\|HEAD,\/api\/v1\/notes,none,,200 \[own\]$/m)
    // The stated row says what becomes of a note for oneself.
    expect(notes?.text.match(/^POST,\/api\/v1.*$/gm)).to.deep.equal(['POST,/api/v1/notes,none,other,403'])
  })

  it('adds what is missing as often as it is asked, into files of their own, and then nothing', async () => {
    const folder = await newFolder()
    const columns = everywhere({ kind: 'roles', roles: ['member'] })
    const addMissing = async () => {
      const suite = await suiteOf(folder)
      return storeNew(folder, writeMissing(await planMatrix(suite, columns, statedIn(suite)), await textsIn(folder)))
    }
    const first = await addMissing()
    expect(first).to.include.members(
      ['orders.missing.csv', 'bodies/orders-progress.json'].map((name) => join(folder, name)),
    )
    expect(await addMissing()).to.deep.equal([])
    const orders = join(folder, 'orders.missing.csv')
    const kept = (await readFile(orders, 'utf8')).replace(/^PATCH.*\n/gm, '')
    await writeFile(orders, kept)
    await writeFile(join(folder, 'bodies/orders-progress.json'), '{"status":"cancelled"}\n')
    expect(await addMissing()).to.have.members(
      ['orders.missing-2.csv', 'bodies/orders-progress-2.json'].map((name) => join(folder, name)),
    )
    expect(await readFile(join(folder, 'orders.missing-2.csv'), 'utf8')).to.match(/^PATCH,.*orders-progress-2\.json/m)
    expect(await readFile(orders, 'utf8')).to.equal(kept)
    expect(await addMissing()).to.deep.equal([])
  })

  it('overwrites nothing unasked, and then writes nothing', async () => {
    const folder = await newFolder()
    await writeFile(join(folder, 'notes.csv'), 'mine')
    const files = await writtenFor(await suiteOf())
    const refused = await storeNew(folder, files).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(ToolError)
    expect((refused as Error).message).to.match(/notes\.csv` would be overwritten: write to another folder with --out/)
    expect(await readdir(folder)).to.deep.equal(['notes.csv'])
    expect(await readFile(join(folder, 'notes.csv'), 'utf8')).to.equal('mine')
    await storeOver(folder, files)
    expect(await readdir(folder, { recursive: true })).to.include.members(files.map(({ name }) => name))
  })
})
