/** POST /access/v1/filter over HTTP: which rows of somebody else's table a subject may use, in SQL and as UCAST. */

import { expect } from 'chai'
import fc from 'fast-check'
import { runs } from '../../runs.ts'
import { startTestServer, type TestServer } from '../../server.ts'

const PATH = '/access/v1/filter'

const ALICES_NOTES = { type: 'field', field: 'ownerId', operator: 'eq', value: 'alice' }

describe('a filter', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(() => server.stop())

  const ask = async (body: unknown, roles: readonly string[] = ['pdp-client']) =>
    server.ask('POST', PATH, { token: await server.token('shop', ...roles), body })

  const about = (subject: string, action: string, type: string, options?: object) => ({
    subject: { type: 'user', id: subject },
    action: { name: action },
    resource: { type },
    ...(options && { options }),
  })

  const sqlite = (more: object = {}) => ({
    sql: { dialect: 'sqlite', table: 'notes', columns: { ownerId: 'owner_id' }, ...more },
  })

  const faultsOf = async (body: unknown) => {
    const answer = await ask(body)
    const errors = answer.body.errors as { pointer: string }[]
    return [answer.status, answer.body.code, ...errors.map(({ pointer }) => pointer)]
  }

  it('is UCAST, with the fields and the revision', async () => {
    const { status, body, headers } = await ask(about('alice', 'read', 'notes'))
    expect(status).to.equal(200)
    expect(body).to.deep.equal({
      kind: 'condition',
      ucast: ALICES_NOTES,
      fields: {
        always: ['id', 'ownerId', 'title', 'body', 'tags', 'createdAt', 'updatedAt'],
        sometimes: [],
      },
      context: { revision: headers.get('policy-revision') },
    })
  })

  it('is SQL of a dialect, or both forms', async () => {
    const options = { ucast: true, sql: { dialect: 'postgresql', table: 'n', firstParameter: 3 } }
    const { body } = await ask(about('alice', 'delete', 'notes', options))
    expect(body.ucast).to.deep.equal(ALICES_NOTES)
    expect(body.sql).to.deep.equal({
      text: '("n"."ownerId" = $3::text and "n"."ownerId" collate "C" = $3::text)',
      parameters: ['alice'],
    })
    expect(body).not.to.have.property('fields')
    const lite = (await ask(about('alice', 'delete', 'notes', sqlite()))).body
    expect(lite.sql).to.deep.equal({
      text: `("notes"."owner_id" collate binary = ? and typeof("notes"."owner_id") = 'text')`,
      parameters: ['alice'],
    })
    expect(lite).not.to.have.property('ucast')
  })

  it('says always and never, in SQL too', async () => {
    const always = (await ask(about('audrey', 'read', 'notes', { ucast: true, ...sqlite() }))).body
    expect([always.kind, always.sql, always.ucast]).to.deep.equal([
      'always',
      { text: 'true', parameters: [] },
      undefined,
    ])
    const never = (await ask(about('audrey', 'delete', 'notes', { ucast: true, ...sqlite() }))).body
    expect([never.kind, never.sql, never.ucast]).to.deep.equal(['never', { text: 'false', parameters: [] }, undefined])
    expect(never.context.reason).to.equal('not-granted')
  })

  it('has no rows with a stable code where an evaluation would have one', async () => {
    const reasonFor = async (body: object) => (await ask(body)).body.context.reason
    expect(await reasonFor(about('nobody', 'read', 'notes', sqlite()))).to.equal('subject-unknown')
    expect(await reasonFor(about('alice', 'fly', 'notes'))).to.equal('action-unknown')
    expect(await reasonFor(about('alice', 'read', 'planes', sqlite()))).to.equal('resource-unknown')
    const robot = { ...about('alice', 'read', 'notes'), subject: { type: 'robot', id: 'alice' } }
    expect(await reasonFor(robot)).to.equal('subject-type')
    const unknown = { ...about('alice', 'read', 'notes'), context: { fields: ['shoeSize'] } }
    expect(await reasonFor(unknown)).to.equal('fields-refused')
  })

  it('takes roles from the directory, never from the request', async () => {
    const asAdmin = {
      ...about('bob', 'read', 'notes'),
      subject: { type: 'user', id: 'bob', properties: { roles: ['admin'] } },
    }
    expect((await ask(asAdmin)).body.ucast).to.deep.equal({ ...ALICES_NOTES, value: 'bob' })
  })

  it('holds the rows on which the fields that are asked about are all granted', async () => {
    const kindWith = async (...fields: readonly string[]) => {
      return (await ask({ ...about('sam', 'read', 'users'), context: { fields } })).body.kind
    }
    expect(await kindWith('email')).to.equal('always')
    expect(await kindWith('email', 'roles')).to.equal('condition')
  })

  it('refuses what it cannot say, and names it', async () => {
    expect(await faultsOf(about('alice', 'create', 'notes'))).to.deep.equal([422, 'filter-unsayable', '/action/name'])
    for (const action of ['update', 'read', 'fly']) {
      const withBody = { ...about('alice', action, 'orders'), action: { name: action, properties: { body: {} } } }
      expect(await faultsOf(withBody)).to.deep.equal([422, 'filter-unsayable', '/action/properties/body'])
    }
    const unmapped = about('alice', 'read', 'notes', sqlite({ columns: { title: 'title' } }))
    expect(await faultsOf(unmapped)).to.deep.equal([422, 'filter-unsayable', '/options'])
    const { errors } = (await ask(unmapped)).body
    expect(errors[0].detail).to.equal('`ownerId` of `notes` has no column: name it in `columns`')
  })

  it('names each member that is not accepted', async () => {
    const faulty: readonly (readonly [object, ...string[]])[] = [
      [sqlite({ columns: { shoeSize: 'x' } }), '/options/sql/columns/shoeSize'],
      [sqlite({ columns: { ownerId: { type: 'uuid' } } }), '/options/sql/columns/ownerId/type'],
      [sqlite({ columns: { ownerId: { list: 'json' } } }), '/options/sql/columns/ownerId/list'],
      [sqlite({ columns: { tags: { list: 'array' } } }), '/options/sql/columns/tags/list'],
      [sqlite({ table: 'Sallyport_r1' }), '/options/sql/table'],
      [sqlite({ columns: { ownerId: 'sallyport_r1' } }), '/options/sql/columns/ownerId'],
      [sqlite({ columns: { ownerId: { column: 'SALLYPORT_x' } } }), '/options/sql/columns/ownerId'],
      [
        sqlite({ related: { orders: { table: 'orders', columns: { id: 'sallyport_id' } } } }),
        '/options/sql/related/orders/columns/id',
      ],
      [sqlite({ related: { planes: { table: 'planes' } } }), '/options/sql/related/planes'],
      [sqlite({ related: { orders: {} } }), '/options/sql/related/orders/table'],
      [sqlite({ dialect: 'mysql' }), '/options/sql/dialect'],
      [sqlite({ firstParameter: 0 }), '/options/sql/firstParameter'],
      [{ sql: {} }, '/options/sql/dialect', '/options/sql/table'],
      [{ SQL: {} }, '/options/SQL'],
    ]
    for (const [options, ...pointers] of faulty) {
      expect(await faultsOf(about('alice', 'read', 'notes', options))).to.deep.equal([400, 'invalid-body', ...pointers])
    }
    expect(await faultsOf(about('alice', 'read', 'notes', { ucast: false }))).to.deep.equal([
      400,
      'invalid-body',
      '/options/ucast',
    ])
    expect(await faultsOf({})).to.deep.equal([400, 'invalid-body', '/subject', '/resource', '/action'])
  })

  it('takes no name into a statement that is no plain identifier', async () => {
    const odd = fc.string({ minLength: 1, maxLength: 80, unit: fc.constantFrom(...`a"';.-$?\\/*\0 é_1`) })
    const hostile = fc.oneof(odd, fc.constantFrom('n" or 1=1 --', 'a.b.c', 'x'.repeat(64), '1a', '', 'a\n'))
    const isPlain = (name: string) => /^[a-z_][a-z0-9_]{0,62}$/i.test(name)
    await fc.assert(
      fc.asyncProperty(
        hostile.filter((name) => !isPlain(name)),
        fc.constantFrom('table', 'column', 'described', 'related'),
        async (name, place) => {
          const options = {
            table: sqlite({ table: `${name}.b.c`.slice(0, 90) }),
            column: sqlite({ columns: { ownerId: name } }),
            described: sqlite({ columns: { ownerId: { column: name } } }),
            related: sqlite({ related: { orders: { table: 'orders', columns: { id: name } } } }),
          }[place]
          const { status } = await ask(about('alice', 'read', 'notes', options))
          expect(status).to.equal(400)
        },
      ),
      { numRuns: runs(150) },
    )
  })

  it('is for services that the policy grants it', async () => {
    expect((await ask(about('alice', 'read', 'notes'), ['member'])).status).to.equal(403)
    const nobody = await server.ask('POST', PATH, { body: about('alice', 'read', 'notes') })
    expect(nobody.status).to.equal(401)
  })

  it('leaves a record: the service is its caller, and the question has its condition', async () => {
    await ask(about('alice', 'read', 'notes', sqlite()))
    const record = (await server.lastDecision({ action: 'filter' })) as Record<string, unknown>
    expect(record).to.deep.include({ subject: 'shop', resource: 'system/access', action: 'filter', status: 200 })
    const [asked] = record.asked as Record<string, unknown>[]
    expect(asked).to.deep.include({
      subject: 'alice',
      roles: ['member'],
      resource: 'notes',
      action: 'read',
      decision: true,
    })
    expect(asked?.facts).to.deep.equal({ where: { kind: 'holds', field: 'ownerId', values: ['alice'] } })
  })
})
