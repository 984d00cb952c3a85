/**
 * Every cell of test/matrix/*.csv and every case of *.yaml, over real HTTP: what each role is answered on each method,
 * path and object.
 */

import { expect } from 'chai'
import type { Route } from '../../src/resources/resource.ts'
import { readCases } from '../../src/tools/matrix/read/cases.ts'
import type { ObjectState } from '../../src/tools/matrix/read/expectation.ts'
import { findMatrixFiles, readMatrices } from '../../src/tools/matrix/read/read-matrices.ts'
import { titleOf } from '../../src/tools/matrix/read/words.ts'
import { runCase } from '../../src/tools/matrix/run/run-case.ts'
import { runCell } from '../../src/tools/matrix/run/run-cell.ts'
import { type MatrixServer, startMatrixServer } from './matrix-server.ts'

const FOLDER = new URL('.', import.meta.url).pathname
const files = await findMatrixFiles([FOLDER])
const cells = await readMatrices(files.matrices)
const cases = await readCases(files.cases)

describe('policy matrix', () => {
  let server: MatrixServer

  before(async () => {
    server = await startMatrixServer(cells)
  })
  after(() => server.stop())

  for (const cell of cells) {
    it(titleOf(cell), async () => {
      const { outcome, why } = await runCell(server.suite, server, cell)
      expect(why ?? outcome).to.equal('passed')
    })
  }

  for (const one of cases) {
    it(one.name, async () => {
      const { outcome, why } = await runCase(server.suite, server.target, one)
      expect(why ?? outcome).to.equal('passed')
    })
  }

  it('states every method of every route, for every kind of object that the route can be asked about', () => {
    const stated = new Set(cells.map(({ method, path, object }) => `${method} ${path} ${kindOf(object)}`))
    const missing = server.suite.resources.routes
      .filter(({ path }) => path !== '*')
      .flatMap((route) => expectedRows(route).filter((row) => !stated.has(row)))
    expect(missing).to.deep.equal([])
  })

  it('states something for every role of every row', () => {
    expect(cells.length).to.be.greaterThan(900)
    expect(new Set(cells.map(({ column }) => JSON.stringify(column))).size).to.equal(10)
  })

  it('a cell that states another status would fail', async () => {
    const cell = cells.find(
      ({ method, object, expected }) => method === 'DELETE' && object.kind === 'other' && expected.status === 403,
    )
    if (!cell) throw new Error('no cell is about deleting')
    const wrong = { ...cell, column: { kind: 'roles', roles: ['member'] }, expected: { status: 204 } } as const
    const { why } = await runCell(server.suite, server, wrong)
    expect(why).to.equal('expected 204, got 403; no rule of policy.csv allows it')
  })
})

function expectedRows(route: Route): readonly string[] {
  return [...route.endpoints.keys()].flatMap((method) =>
    objectsOf(route).map((object) => `${method} ${route.path} ${object}`),
  )
}

/** An order always has a state: it is nobody's `other`, and `own` with that state. */
function kindOf(object: ObjectState): string {
  if (object.kind !== 'relations') return object.kind
  return object.names.includes('owner') ? 'own' : 'other'
}

/** The kinds of object that a matrix must state for a route. */
function objectsOf({ kind, resource }: Route): readonly string[] {
  if (kind === 'collection') return ['none']
  // Sessions are no objects that a matrix could put there.
  if (resource === 'system/tokens') return ['missing']
  return kind === 'item' ? ['own', 'other', 'missing'] : ['own', 'missing']
}
