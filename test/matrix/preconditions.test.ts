/** Where a route requires `If-Match`, a cell names the object's current tag; one that expects 428 names none. */

import { join } from 'node:path'
import { expect } from 'chai'
import { statedIn } from '../../src/tools/matrix/cells/survey.ts'
import { columnsFor, type PlannedRow, planMatrix } from '../../src/tools/matrix/init/plan-matrix.ts'
import { storeOver } from '../../src/tools/matrix/init/write-matrix.ts'
import { readPredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { parseMatrix } from '../../src/tools/matrix/read/matrix-file.ts'
import { titleOf } from '../../src/tools/matrix/read/words.ts'
import { runCell } from '../../src/tools/matrix/run/run-cell.ts'
import { type MatrixServer, startMatrixServer } from './matrix-server.ts'
import { newFolder, writtenFor } from './predict/suites.ts'

const times = { type: 'string', format: 'date-time', readOnly: true }
const SCHEMA = JSON.stringify({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Paper',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/papers', methods: ['GET', 'POST'] },
      { path: '/papers/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'], precondition: 'required' },
      { path: '/papers/{id}/title', methods: ['PATCH'], action: 'rename', precondition: 'required' },
    ],
  },
  properties: {
    id: { type: 'string', readOnly: true },
    author: { type: 'string', 'x-index': true },
    title: { type: 'string', minLength: 1, maxLength: 20 },
    createdAt: times,
    updatedAt: times,
  },
  required: ['title'],
  additionalProperties: false,
})
const RULES = `
p, everyone, *, options, any, *, allow
p, member, papers, list|read|create|replace|delete|rename, owner, *, allow
p, member, papers, update, owner, *, allow
p, clerk, papers, update|rename, any, *, allow
`
const FILES = {
  'schemas/papers.json': SCHEMA,
  'policies/roles.yaml': 'member: { description: m }\nclerk: { description: c, privileged: true }\n',
  'policies/ownership.yaml': 'papers: { relations: { owner: author } }\n',
  'policies/views.yaml': 'accounts: { balance: [balance] }\n',
  'policies/policy.csv': RULES,
}
const FORGOTTEN = RULES.replace('p, member, papers, update, owner, *, allow\n', '')

describe('a matrix about a route that requires If-Match', () => {
  let server: MatrixServer

  before(async () => {
    server = await startMatrixServer([], { files: FILES })
  })
  after(() => server.stop())

  it('states what is allowed and refused, and once that the tag is required', async () => {
    const text = await written(server)
    expect(text).to.match(/^PATCH,\/papers\/\{id\},own,,-,200,204$/m)
    expect(text).to.match(/^DELETE,\/papers\/\{id\},own,,-,204,403$/m)
    const unconditional = text.split('\n').filter((line) => line.includes('428'))
    expect(unconditional.map((line) => line.split(',').slice(0, 2).join(' '))).to.deep.equal([
      'PUT /papers/{id}',
      'PATCH /papers/{id}',
      'DELETE /papers/{id}',
      'PATCH /papers/{id}/title',
    ])
    expect(await redIn(server, text)).to.deep.equal([])
  })

  it('is red where a rule was forgotten, as 428 would have hidden', async () => {
    const other = await startMatrixServer([], { files: { ...FILES, 'policies/policy.csv': FORGOTTEN } })
    const red = await redIn(other, await written(server))
    await other.stop()
    expect(red).to.include('PATCH /papers/{id} (own) as member is 200: expected 200, got 403')
  })

  it('sends the current tag, and `*` for a caller who may not read the object', async () => {
    const sent = async (row: string) => {
      const [result] = await run(server, `method,path,object,member,clerk\n${row}`)
      return result?.exchanges[0]?.request.headers['if-match']
    }
    expect(await sent('PATCH,/papers/{id},own,403,-')).to.match(/^"[\w-]{24}"$/)
    expect(await sent('PATCH,/papers/{id},other,-,403')).to.equal('*')
    expect(await sent('PATCH,/papers/{id}/title,own,403,-')).to.match(/^"[\w-]{24}"$/)
    expect(await sent('PATCH,/papers/{id},own,428,-')).to.equal(undefined)
    expect(await sent('GET,/papers/{id},own,403,-')).to.equal(undefined)
  })

  it('leaves nothing missing once it is written, the request without a tag included', async () => {
    const folder = await newFolder()
    await storeOver(folder, [{ name: 'papers.csv', text: await written(server) }])
    const suite = await readPredictedSuite({ ...foldersOf(server), matrices: [folder] }, Date.now())
    const papers = (await planMatrix(suite, columnsFor(suite), statedIn(suite))).rows.filter(isOfPapers)
    expect(papers).to.deep.equal([])
    const without = { ...suite, expectations: suite.expectations.filter(({ expected }) => expected.status !== 428) }
    const missing = (await planMatrix(without, columnsFor(without), statedIn(without))).rows.filter(isOfPapers)
    expect(missing.map(({ unconditional }) => unconditional)).to.deep.equal([true, true, true, true])
  })
})

function isOfPapers({ routeMethod }: PlannedRow): boolean {
  return routeMethod.resource.name === 'papers'
}

function foldersOf({ server: { folder } }: MatrixServer) {
  return { policies: join(folder, 'policies'), schemas: join(folder, 'schemas'), matrices: [] }
}

async function written(server: MatrixServer): Promise<string> {
  const suite = await readPredictedSuite(foldersOf(server), Date.now())
  return (await writtenFor(suite)).find(({ name }) => name === 'papers.csv')?.text ?? ''
}

async function run(server: MatrixServer, text: string) {
  const cells = parseMatrix({ name: 'm.csv', text }, ({ message }) => expect.fail(message))
  return Promise.all(
    cells.map(async (cell) => ({ title: titleOf(cell), ...(await runCell(server.suite, server, cell)) })),
  )
}

async function redIn(server: MatrixServer, text: string): Promise<readonly string[]> {
  const results = await run(server, text)
  expect(results.length).to.be.greaterThan(20)
  return results.flatMap(({ title, why }) => (why === undefined ? [] : [`${title}: ${why.split(';')[0]}`]))
}
