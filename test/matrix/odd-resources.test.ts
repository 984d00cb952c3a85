/** Resources that are told apart by less than usual: rows without ids, codes that only a pattern describes. */

import { join } from 'node:path'
import { expect } from 'chai'
import { surveyCells } from '../../src/tools/matrix/cells/survey.ts'
import { columnsFor, planMatrix } from '../../src/tools/matrix/init/plan-matrix.ts'
import { readPredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { parseMatrix } from '../../src/tools/matrix/read/matrix-file.ts'
import { runCell } from '../../src/tools/matrix/run/run-cell.ts'
import { type MatrixServer, startMatrixServer } from './matrix-server.ts'
import { writtenFor } from './predict/suites.ts'

function schemaOf(name: string, properties: object): string {
  const times = { type: 'string', format: 'date-time', readOnly: true }
  return JSON.stringify({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: name,
    type: 'object',
    'x-resource': {
      routes: [
        { path: `/${name}`, methods: ['GET', 'POST'] },
        { path: `/${name}/{id}`, methods: ['GET'] },
        ...(name === 'parts' ? [{ path: '/parts/{id}/code', methods: ['GET'], view: 'code' }] : []),
      ],
    },
    properties: { id: { type: 'string', readOnly: true }, createdAt: times, updatedAt: times, ...properties },
    required: Object.keys(properties).filter((field) => field !== 'tint'),
    additionalProperties: false,
  })
}

const TINT = { type: 'string', enum: ['red', 'green', 'blue'], 'x-index': true }
const FILES = {
  'schemas/bins.json': schemaOf('bins', { size: { type: 'integer', minimum: 1 }, tint: TINT }),
  'schemas/parts.json': schemaOf('parts', {
    code: { type: 'string', pattern: '^[A-Z]{3}-[0-9]{2}$', examples: ['ABC-01'], 'x-unique': true },
    tint: TINT,
  }),
  'schemas/seats.json': schemaOf('seats', {
    row: { type: 'string', enum: ['the only one'], 'x-unique': true },
    tint: TINT,
  }),
  'schemas/gears.json': schemaOf('gears', {
    holder: { type: 'string', format: 'uuid', 'x-index': true },
    hands: { type: 'array', items: { type: 'string', maxLength: 9 } },
    tint: TINT,
  }),
  'schemas/deals.json': JSON.stringify({
    ...JSON.parse(
      schemaOf('deals', { number: { type: 'integer', maximum: 9999, 'x-unique': true }, mail: TINT, tint: TINT }),
    ),
    required: ['number'],
    anyOf: [{ required: ['mail'] }, { required: ['tint'] }],
  }),
  'schemas/desks.json': schemaOf('desks', { dept: { type: 'string', maxLength: 60, 'x-index': true } }),
  'policies/policy.csv': `
p, everyone, desks, list|read, owner, *, allow
p, member, deals, list|create, any, *, allow
p, keeper, deals, list|create, any, *, allow
p, member, gears, list|create, owner, *, allow
p, keeper, gears, list, any, *,     allow
p, member, bins,  list, any, light, allow
p, keeper, bins,  list, any, light, allow
p, keeper, bins,  list, red, *,     allow
p, member, parts, list, any, *,     allow
p, member, seats, list, any, *,     allow
p, keeper, parts, create, any, tinted, allow
p, keeper, seats, list, any, *,      allow
p, keeper, seats, list, any, tinted, deny
p, member, parts, read, any, tinted, allow
`,
  'policies/roles.yaml': 'member: { description: m }\nkeeper: { description: k }\n',
  'policies/ownership.yaml': ['bins', 'parts', 'seats']
    .map((name) => `${name}: { relations: { red: { field: tint, in: [red] } } }\n`)
    .concat(
      'deals: { relations: { red: { field: tint, in: [red] } } }\n',
      'gears: { relations: { owner: holder, hand: hands } }\n',
      'desks: { relations: { owner: id, mate: { field: dept, equals: subject.department } } }\n',
    )
    .join(''),
  'policies/views.yaml':
    'accounts: { balance: [balance] }\nbins: { light: [size, createdAt], bare: [size], more: [size, createdAt, tint] }\nparts: { tinted: [tint], code: [code] }\nseats: { tinted: [tint] }\n',
}

function foldersOf({ server: { folder } }: MatrixServer) {
  return { policies: join(folder, 'policies'), schemas: join(folder, 'schemas'), matrices: [] }
}

describe('a matrix of odd resources', () => {
  let server: MatrixServer

  before(async () => {
    server = await startMatrixServer([], { files: FILES })
  })
  after(() => server.stop())

  it('knows the rows of a view without ids by what they show', async () => {
    expect(await tried('GET,/bins,none,200 light,200')).to.deep.equal([])
    expect(await tried('GET,/bins,none,200 bare,200 light')).to.deep.equal([
      'the answer shows `createdAt`, which the view `bare` does not have',
      'the answer shows `id`, `tint`, `updatedAt`, which the view `light` does not have',
    ])
    expect(await tried('GET,/bins,none,200 [all],-')).to.deep.equal([
      "a row of the list shows no `id`, so its objects can't be identified: state a view instead",
    ])
    expect(await written('bins.csv')).to.match(/^GET\|HEAD,\/bins,none,401,200 light,/m)
    expect(await tried('GET,/bins,none,200 more,-')).to.deep.equal(['the answer lacks `tint` of the view `more`'])
  })

  it('makes callers whose ids fit an owner that must be a UUID, beside a relation that nobody fits', async () => {
    expect(await tried('GET,/gears,none,200 [own],200 [all]')).to.deep.equal([])
    expect(await tried('POST,/gears,none,201,403')).to.deep.equal([])
    expect(await written('gears.csv')).to.match(/^POST,\/gears,none,,401,201,403\b/m)
  })

  it("makes a record of the caller's id for a caller with attributes", async () => {
    expect(await tried('GET,/desks/{id},owner+mate,200,200')).to.deep.equal([])
    expect(await tried('GET,/desks/{id},mate,403,403')).to.deep.equal([])
  })

  it('refuses a caller who can own nothing, and writes `[own]` for those who can', async () => {
    expect(await written('desks.csv')).to.match(/^GET\|HEAD,\/desks,none,401,200 \[own\],200 \[own\]/m)
  })

  it('makes as many codes of a pattern as a list needs, from one example', async () => {
    expect(await tried('GET,/parts,none,200 [all],-')).to.deep.equal([])
  })

  it('makes a body that the whole schema accepts, with a number that no other cell has', async () => {
    expect(await written('deals.csv')).to.match(/^POST,\/deals,none,401,201,201$/m)
    const rows = Array.from({ length: 40 }, () => 'POST,/deals,none,201,201\nGET,/deals,none,200 [all],200 [all]')
    expect(await tried(rows.join('\n'))).to.deep.equal([])
  })

  it("says of a unique field whose values are used up that it can't be tried", async () => {
    await tried('GET,/seats,none,200 [all],-')
    expect(await tried('GET,/seats,none,200 [all],-')).to.deep.equal([
      "can't be tried: no further value was found for the unique field `row` of seats: let its schema accept more values, or add `examples` with letters or digits that others may replace",
    ])
  })

  it('asks every cell of a resource whose unique address has an example that others differ from in a part', async () => {
    const mail = { type: 'string', pattern: '^[a-z.]+@acme\\.com$', examples: ['ada@acme.com'], 'x-unique': true }
    const other = await startMatrixServer([], {
      files: { ...FILES, 'schemas/parts.json': schemaOf('parts', { code: mail, tint: TINT }) },
    })
    const rows = Array.from({ length: 20 }, () => 'GET,/parts,none,200 [all]\nGET,/parts/{id},red,200')
    const cells = parseMatrix({ name: 'm.csv', text: `method,path,object,member\n${rows.join('\n')}` }, ({ message }) =>
      expect.fail(message),
    )
    const results = await Promise.all(cells.map((cell) => runCell(other.suite, other, cell)))
    await other.stop()
    expect(results.flatMap(({ why }) => why ?? [])).to.deep.equal([])
  })

  it('makes codes of a pattern without an example', async () => {
    const parts = FILES['schemas/parts.json'].replace('"examples":["ABC-01"],', '')
    expect(parts).not.to.equal(FILES['schemas/parts.json'])
    const other = await startMatrixServer([], { files: { ...FILES, 'schemas/parts.json': parts } })
    const { samples } = await readPredictedSuite(foldersOf(other), Date.now())
    const cells = parseMatrix(
      { name: 'm.csv', text: 'method,path,object,member\nGET,/parts,none,200 [all]\nGET,/parts/{id},red,200' },
      ({ message }) => expect.fail(message),
    )
    const results = await Promise.all(cells.map((cell) => runCell(other.suite, other, cell)))
    await other.stop()
    expect(samples.get('parts')?.values.get('code')?.[0]).to.equal('AAA-00')
    expect(results.map(({ outcome, why }) => why ?? outcome)).to.deep.equal(['passed', 'passed'])
  })

  it('asks nothing of a resource that no object can be made of, says so, and goes on with the others', async () => {
    const without = {
      ...FILES,
      'schemas/parts.json': FILES['schemas/parts.json'].replace('"examples":["ABC-01"],', '"minLength":9,'),
    }
    const other = await startMatrixServer([], { files: without })
    const suite = await readPredictedSuite(foldersOf(other), Date.now())
    const rows = 'method,path,object,member\nPOST,/parts,none,403\nGET,/parts/{id},red,200\nGET,/bins,none,200 light'
    const cells = parseMatrix({ name: 'm.csv', text: rows }, ({ message }) => expect.fail(message))
    const tried = await Promise.all(cells.map((cell) => runCell(other.suite, other, cell)))
    await other.stop()
    const why = 'no valid value was found for `code` of parts: add `examples` to its schema'
    const impossible = `can't be tried: ${why}`
    expect(tried.map((result) => result.why ?? result.outcome)).to.deep.equal([impossible, impossible, 'passed'])
    const { unasked, cells: known } = await surveyCells(suite)
    expect(new Set(unasked.map((cell) => [cell.resource, cell.why].join(': ')))).to.deep.equal(
      new Set([`parts: ${why}`]),
    )
    expect(unasked.map(({ method, path }) => `${method} ${path}`)).to.include.members(['POST /parts', 'GET /parts'])
    expect(known.some(({ resource }) => resource === 'bins')).to.equal(true)
    const plan = (await planMatrix(suite, columnsFor(suite), () => false)).rows.filter(({ routeMethod, body }) => {
      return routeMethod.resource.name === 'parts' && body === undefined
    })
    expect(new Set(plan.flatMap(({ methods }) => methods))).to.deep.equal(new Set(['GET', 'HEAD', 'OPTIONS']))
    expect(new Set(plan.map(({ object }) => object.kind))).to.not.include('relations')
  })

  it('names the rules behind a list, an object that was made, or not, and fields that are denied', async () => {
    const ruleOf = (line: string) => `policy.csv:${FILES['policies/policy.csv'].split('\n').indexOf(line) + 1}`
    const creation = ruleOf('p, member, gears, list|create, owner, *, allow')
    const narrow = ruleOf('p, keeper, parts, create, any, tinted, allow')
    const [allow, deny] = ['allow', 'deny'].map((effect) =>
      ruleOf(`p, keeper, seats, list, any, ${effect === 'allow' ? '*,     ' : 'tinted,'} ${effect}`),
    )
    expect(await whole('POST,/gears,none,403,201')).to.deep.equal([
      `expected 403, got 201; ${creation} allows it`,
      'expected 201, got 403; no rule of policy.csv allows it',
    ])
    expect(await whole('GET,/gears,none,403,-')).to.deep.equal([`expected 403, got 200; ${creation} allows it`])
    const view = ruleOf('p, member, parts, read, any, tinted, allow')
    expect(await whole('GET,/parts/{id}/code,red,200,-')).to.deep.equal([
      `expected 200, got 403; ${view} allows it, but no field of the view \`code\``,
    ])
    expect(await whole('POST,/parts,none,-,201')).to.deep.equal([
      `expected 201, got 403; ${narrow} allows it, but not \`code\` of the body: ${ADVICE}`,
    ])
    expect(await whole('GET,/seats,none,-,403')).to.deep.equal([
      `expected 403, got 200; ${allow} allows it, and ${deny} denies some of its fields`,
    ])
  })

  const ADVICE = 'say in `becomes` what the request changes, or name a file in `body`'

  async function written(file: string): Promise<string | undefined> {
    const suite = await readPredictedSuite(foldersOf(server), Date.now())
    return (await writtenFor(suite)).find(({ name }) => name === file)?.text
  }

  async function tried(row: string): Promise<readonly (string | undefined)[]> {
    return (await whole(row)).map((why) => why?.replace(/; policy.csv.*/, ''))
  }

  async function whole(row: string): Promise<readonly (string | undefined)[]> {
    const text = `method,path,object,member,keeper\n${row}`
    const cells = parseMatrix({ name: 'm.csv', text }, ({ message }) => expect.fail(message))
    const results = await Promise.all(cells.map((cell) => runCell(server.suite, server, cell)))
    return results.flatMap(({ outcome, why }) => (outcome === 'passed' ? [] : [why]))
  }
})
