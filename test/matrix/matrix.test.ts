/** Every cell of test/matrix/*.csv, over real HTTP: what each role is answered on each method, path and object. */
import { expect } from 'chai'
import type { Route } from '../../src/resources/resource.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { objectsOf, prepare } from './prepare.ts'
import { type Cell, readMatrix } from './read-matrix.ts'

const cells = readMatrix(new URL('.', import.meta.url))

describe('policy matrix', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  for (const cell of cells) {
    it(`${cell.method} ${cell.path} (${titleOf(cell)}) as ${cell.column} is ${cell.status}`, async () => {
      expect((await answer(cell)).status).to.equal(cell.status)
    })
  }

  it('states every method of every route, for every kind of object that the route can be asked about', () => {
    const stated = new Set(cells.map(({ method, path, object }) => `${method} ${path} ${object}`))
    const missing = server.app.resources.routes
      .filter(({ path }) => path !== '*')
      .flatMap((route) => expectedRows(route).filter((row) => !stated.has(row)))
    expect(missing).to.deep.equal([])
  })

  it('states something for every role of every row', () => {
    expect(cells.length).to.be.greaterThan(700)
    expect(new Set(cells.map(({ column }) => column)).size).to.equal(6)
  })

  it('a cell that states another status would fail', async () => {
    const cell = cells.find(({ method, object }) => method === 'DELETE' && object === 'other') as Cell
    expect((await answer({ ...cell, column: 'member' })).status).to.not.equal(204)
  })

  async function answer(cell: Cell): Promise<{ status: number }> {
    const { token, path, body } = await prepare(server, cell)
    return server.ask(cell.method, path, { token, body })
  }
})

function titleOf({ object, body, note }: Cell): string {
  return [object, body, note].filter((part) => part !== '').join(', ')
}

function expectedRows(route: Route): readonly string[] {
  return [...route.endpoints.keys()].flatMap((method) =>
    objectsOf(route).map((object) => `${method} ${route.path} ${object}`),
  )
}
