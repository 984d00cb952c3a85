/** The matrix of the shipped policy says what the server answers. */

import { expect } from 'chai'
import type { Matrix } from '../../../src/tools/permissions/matrix.ts'
import type { MatrixRow } from '../../../src/tools/permissions/merge-rows.ts'
import { startTestServer, type TestServer } from '../../server.ts'
import { shippedMatrix } from './shipped-page.ts'

type Item = Readonly<Record<string, unknown>>

const CALLERS = [
  ['alice', 'member'],
  ['sam', 'support'],
  ['audrey', 'auditor'],
  ['ada', 'admin'],
  [undefined, 'anonymous'],
  ['zoe', 'everyone'],
] as const

const COLLECTIONS: Readonly<Record<string, { readonly path: string; readonly owner: string }>> = {
  notes: { path: '/api/v1/notes', owner: 'ownerId' },
  orders: { path: '/api/orders', owner: 'customerId' },
  accounts: { path: '/api/accounts', owner: 'userId' },
  users: { path: '/api/users', owner: 'id' },
}

/** The relations of an order, in the order of ownership.yaml. */
const STATES: Readonly<Record<string, readonly string[]>> = {
  draft: ['draft', 'open'],
  placed: ['placed', 'open'],
  shipped: ['shipped'],
  cancelled: ['cancelled'],
}

describe('the matrix of the shipped policy', () => {
  let server: TestServer
  let matrix: Matrix

  before(async () => {
    server = await startTestServer({ demo: true })
    matrix = await shippedMatrix()
  })
  after(() => server.stop())

  for (const [id, column] of CALLERS) {
    it(`says what ${column} is answered, and which fields are shown`, async () => {
      const token = await tokenOf(id, column)
      for (const [resource, { path, owner }] of Object.entries(COLLECTIONS)) {
        const objects = await allOf(path)
        const relate = (object: Item) => [
          ...(object[owner] === id ? ['owner'] : []),
          ...(resource === 'orders' ? (STATES[String(object.status)] ?? []) : []),
        ]
        await expectItems(objects, relate, { column, token, path })
        await expectList(objects, relate, { column, token, path })
      }
    })
  }

  const ELSEWHERE = [
    ['OPTIONS', '/api/orders', '/api/orders', []],
    ['GET', '/livez', '/livez', []],
    ['GET', '/profile/bob', '/profile/{id}', []],
    ['GET', '/profile', '/profile', ['owner']],
  ] as const

  for (const [method, asked, path, holding] of ELSEWHERE) {
    it(`says what ${method} ${asked} is answered`, async () => {
      // Zoe has no record of her own.
      for (const [id, column] of CALLERS.filter(([who]) => who !== 'zoe' || asked !== '/profile')) {
        const { status } = await server.ask(method, asked, { token: await tokenOf(id, column) })
        const { outcome } = cellOf(rowOf(method, path, holding), column)
        expect(status < 300 ? 'allowed' : 'denied', column).to.equal(outcome)
      }
    })
  }

  async function tokenOf(id: string | undefined, column: string): Promise<string | undefined> {
    return id === undefined ? undefined : server.token(id, ...(column === 'everyone' ? [] : [column]))
  }

  interface Asking {
    readonly column: string
    readonly token: string | undefined
    readonly path: string
  }
  type Relate = (object: Item) => readonly string[]

  async function expectItems(objects: readonly Item[], relate: Relate, { column, token, path }: Asking) {
    for (const object of objects) {
      const cell = (method: string) => cellOf(rowOf(method, `${path}/{id}`, relate(object)), column)
      const where = `${path}/${object.id}`
      const read = await server.ask('GET', where, { token })
      expect(read.status === 200 ? 'allowed' : 'denied', `${column} GET ${where}`).to.equal(cell('GET').outcome)
      if (read.status === 200) expect(Object.keys(read.body).sort()).to.deep.equal(shown(object, cell('GET').fields))
      // Support may take steps of orders, and change nothing else.
      const body = path === '/api/orders' && column === 'support' ? { status: 'cancelled' } : {}
      const changed = await server.ask('PATCH', where, { token, body })
      expect(changed.status < 300 ? 'allowed' : 'denied', `${column} PATCH ${where}`).to.equal(cell('PATCH').outcome)
    }
  }

  async function expectList(objects: readonly Item[], relate: Relate, { column, token, path }: Asking) {
    const listable = objects.filter(
      (object) => cellOf(rowOf('GET', path, relate(object)), column).outcome === 'allowed',
    )
    const { body } = await server.ask('GET', `${path}?limit=200`, { token })
    const ids = (some: readonly Item[]) => some.map(({ id }) => id).sort()
    expect(ids(body.items ?? []), `${column} GET ${path}`).to.deep.equal(ids(listable))
  }

  async function allOf(path: string): Promise<readonly Item[]> {
    const token = await server.token('ada', 'admin')
    const { body } = await server.ask('GET', `${path}?limit=200`, { token })
    expect(body.items.length).to.be.greaterThan(3)
    return body.items
  }

  /** The row for the relations that hold, of those that rules name there. */
  function rowOf(method: string, path: string, holding: readonly string[]): MatrixRow {
    const rows = matrix.rows.filter((row) => row.path === path && row.methods.some((one) => one === method))
    const named = new Set(rows.flatMap(({ relation }) => relation.split('+')))
    const wanted = holding.filter((name) => named.has(name)).join('+')
    const row = rows.find(({ relation }) => relation === wanted || (wanted === '' && /^(any|none|-)$/.test(relation)))
    if (!row) throw new Error(`no row for ${method} ${path} ${holding}`)
    return row
  }

  function cellOf(row: MatrixRow, column: string) {
    const cell = row.cells[matrix.columns.findIndex(({ name }) => name === column)]
    if (!cell) throw new Error(`no column ${column}`)
    return cell
  }

  function shown(object: Item, fields: readonly string[]): readonly string[] {
    return fields.filter((field) => Object.hasOwn(object, field))
  }
})
