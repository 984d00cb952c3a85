/** Under the shipped policy the predictor says what the server answers over HTTP, in every cell. */
import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Json, Representation } from '../../../src/resources/resource.ts'
import { askedColumns } from '../../../src/tools/matrix/cells/columns.ts'
import { rowsOf } from '../../../src/tools/matrix/cells/rows.ts'
import type { Cell, FixtureRequest } from '../../../src/tools/matrix/predict/cell-fixture.ts'
import type { Answer } from '../../../src/tools/matrix/predict/predict.ts'
import { predictCell } from '../../../src/tools/matrix/predict/predict-cell.ts'
import type { PredictedSuite } from '../../../src/tools/matrix/predict/suite.ts'
import type { MatrixColumn } from '../../../src/tools/matrix/read/expectation.ts'
import { inTurn, soak } from '../../runs.ts'
import { startTestServer, type TestServer } from '../../server.ts'
import { suiteOf } from './suites.ts'

describe('the predictor, of the shipped policy', () => {
  let server: TestServer
  let known: PredictedSuite

  before(async () => {
    server = await startTestServer()
    // Some of its questions are about the matrices of the folder that it was started in.
    await mkdir(join(server.folder, 'test/matrix'), { recursive: true })
    await writeFile(join(server.folder, 'test/matrix/notes.csv'), 'method,path,object,member\nGET,/livez,none,200\n')
    known = await suiteOf()
  })
  after(() => server.stop())

  it('says what the server answers in every cell', async () => {
    const { policy } = known
    const columns: readonly MatrixColumn[] = [
      ...askedColumns(policy, known.resources).map(({ column }) => column),
      { kind: 'roles', roles: [] },
      { kind: 'roles', roles: ['auditor', 'member'] },
    ]
    const cells = rowsOf(policy, known).flatMap(({ routeMethod, methods, object, becomes }) =>
      methods.flatMap((method) =>
        columns.map((column): Cell => {
          const situation = { object, ...(becomes && { becomes }) }
          return { method, path: routeMethod.route.path, ...situation, column }
        }),
      ),
    )
    expect(cells.length).to.be.greaterThan(900)
    await agree(inTurn(cells, soak(3, 5)))
  })

  it('says what the server answers to bodies that change one field', async () => {
    const cells = ['orders', 'users'].flatMap((name) => bodiesOf(name))
    const some = cells.filter(({ path }, i) => !path.startsWith('/users') && i % soak(15, 45) === 0)
    expect(some.length).to.be.greaterThan(soak(100, 33))
    await agree(some)
  })

  it('would be caught saying something else', async () => {
    const [cell] = bodiesOf('notes')
    if (!cell) throw new Error('there is one')
    const expected = { status: 418, seen: undefined }
    expect(await askedOf(cell)).to.not.deep.equal(expected)
  })

  /** Each write, with one field more in the smallest body, and with one field alone. */
  function bodiesOf(name: string): readonly Cell[] {
    const { smallest, values } = known.samples.get(name) ?? { smallest: {}, values: new Map<string, readonly Json[]>() }
    const { [name === 'orders' ? 'customerId' : 'ownerId']: _, ...usual } = smallest
    const fields = known.resources.byName.get(name)?.fields
    const named = [...values].filter(([field]) => !fields?.get(field)?.readOnly)
    const contents = named.flatMap(([field, some]) =>
      some.slice(0, 4).flatMap((value) => [{ [field]: value }, { ...usual, [field]: value }]),
    )
    const columns: readonly MatrixColumn[] = [
      { kind: 'anonymous' },
      ...[...known.policy.roles.keys()].map((role): MatrixColumn => ({ kind: 'roles', roles: [role] })),
    ]
    const writes = rowsOf(known.policy, known, ({ resource, endpoint }) => {
      return resource.name === name && ['create', 'replace', 'update'].includes(endpoint.operation)
    }).filter(({ becomes }) => !becomes)
    return writes.flatMap(({ methods: [method], routeMethod, object }) =>
      columns.flatMap((column) =>
        contents.flatMap((content) =>
          method ? [{ method, path: routeMethod.route.path, object, column, content }] : [],
        ),
      ),
    )
  }

  async function agree(cells: readonly Cell[]): Promise<void> {
    const differing: string[] = []
    for (const cell of cells) {
      const prediction = await predictCell(known.predictor, known.evaluated, cell)
      if (prediction.kind !== 'answer') continue
      const expected = { status: prediction.answer.status, seen: seenOf(prediction.answer, cell) }
      const answer = await askedOf(cell)
      if (JSON.stringify(answer) === JSON.stringify(expected)) continue
      differing.push(
        `${JSON.stringify(cell)}: predicted ${JSON.stringify(expected)}, answered ${JSON.stringify(answer)}`,
      )
    }
    expect(differing.join('\n')).to.equal('')
  }

  async function askedOf(cell: Cell): Promise<{ status: number; seen: unknown }> {
    const fixture = known.predictor.fixtureOf(known.policy, cell)
    if (fixture.kind !== 'solved') throw new Error(fixture.why)
    const request = ownRequest(fixture.request)
    const here = await insert(request)
    const token = request.caller && (await server.token(request.caller.id, ...request.caller.roles))
    const list = cell.method === 'GET' && cell.object.kind === 'none' && !isOwnDocument(cell)
    const path = cell.path.replace('{id}', encodeURIComponent(request.id ?? '')) + (list ? '?limit=200' : '')
    const { status, body } = await server.ask(cell.method, path, { token, body: request.body })
    return {
      status,
      seen: cell.method === 'HEAD' || status > 299 || isOwnDocument(cell) ? undefined : fieldsOf(body, new Set(here)),
    }
  }

  async function insert({ objects }: FixtureRequest): Promise<readonly string[]> {
    for (const [resource, some] of objects) {
      const rows = [...some.values()].map(({ id, createdAt, updatedAt, ...document }) => ({ id: String(id), document }))
      if (rows.length > 0) await server.app.seeding.insert(resource, rows)
    }
    return [...objects.values()].flatMap((some) => [...some.keys()])
  }
})

/** Fixed ids and unique values become this cell's own. */
function ownRequest(request: FixtureRequest): FixtureRequest {
  const mark = randomUUID().slice(0, 18)
  const own = <T extends Json>(value: T): T =>
    JSON.parse(
      JSON.stringify(value).replaceAll('01980000-0000-7000', mark).replaceAll('@example.com', `@${mark}.example.com`),
    )
  const objects = new Map(
    [...request.objects].map(([name, some]) => {
      const renamed = [...some.values()].map((object, i) => alone(own(object as Json) as Representation, i))
      return [name, new Map(renamed.map((object) => [String(object.id), object]))] as const
    }),
  )
  const caller = request.caller && { ...request.caller, id: own(request.caller.id) }
  return {
    ...request,
    caller,
    id: request.id && own(request.id),
    body: request.body && own(request.body as Json as never),
    objects,
  }
}

/** What the program says of itself isn't the policy's matter; only whether it does. */
function isOwnDocument({ path }: Pick<Cell, 'path'>): boolean {
  return ['/livez', '/readyz', '/openapi.json'].includes(path) || /^\/(\.well-known|policy\/v1)\//.test(path)
}

/** Several objects of a list can't share an email. */
function alone(object: Representation, i: number): Representation {
  return i > 0 && object.email ? { ...object, email: `${i}-${object.email}` } : object
}

function seenOf({ items, shown }: Answer, { method, path }: Cell): unknown {
  if (method === 'HEAD' || isOwnDocument({ path })) return undefined
  if (items) return items.map((item) => Object.keys(item.shown).sort().join()).sort()
  const fields = Object.keys(shown ?? {}).sort()
  return fields.length === 0 ? undefined : fields
}

function fieldsOf(body: { items?: Representation[]; next?: string } | undefined, ids: ReadonlySet<string>): unknown {
  if (body && 'next' in body && body.items)
    return body.items
      .filter(({ id }) => ids.has(String(id)))
      .map((one) => Object.keys(one).sort().join())
      .sort()
  const fields = Object.keys(body ?? {}).sort()
  return fields.length === 0 ? undefined : fields
}
