/** `filter` of the client: what it sends, and that no answer is taken that could let a row through by mistake. */
import { expect } from 'chai'
import { AuthzenClient } from '../../packages/client/src/index.ts'
import { type AuthzenServer, startAuthzenServer } from './authzen-server.ts'
import { codeOf } from './outcome.ts'

const QUERY = { subject: { type: 'user', id: 'alice' }, action: { name: 'list' }, resource: { type: 'notes' } }
const UCAST = { type: 'field', operator: 'eq', field: 'ownerId', value: 'alice' }
const SQL = { text: '"owner_id" = $1', parameters: ['alice'] }
const TABLE = { dialect: 'postgresql', table: 'notes', columns: { ownerId: 'owner_id' } } as const

describe('filter', () => {
  let server: AuthzenServer
  let client: AuthzenClient
  let body: unknown
  beforeEach(async () => {
    server = await startAuthzenServer()
    client = new AuthzenClient({ url: server.url, timeoutMs: 20_000 })
    server.instead = (_received, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
      return true
    }
  })
  afterEach(async () => {
    client.close()
    await server.stop()
  })

  it('asks for UCAST, or for SQL of a table, and gives the answer', async () => {
    body = { kind: 'condition', ucast: UCAST, fields: { always: ['id'], sometimes: [] } }
    expect(await client.filter(QUERY)).to.deep.equal(body)
    expect(server.received[0]).to.deep.include({ path: '/access/v1/filter', body: QUERY })
    body = { kind: 'condition', sql: SQL }
    expect(await client.filter(QUERY, { sql: TABLE })).to.deep.equal(body)
    expect(server.received[1]?.body).to.deep.equal({ ...QUERY, options: { sql: TABLE } })
    body = { kind: 'never', context: { reason: 'not-granted' } }
    expect(await client.filter(QUERY)).to.deep.equal(body)
  })

  it('throws for an answer that is not clear', async () => {
    for (body of [
      {},
      { kind: 'all' },
      { kind: ['always'] },
      { kind: 'condition' },
      { kind: 'condition', ucast: 'x' },
      { kind: 'condition', sql: SQL },
      { kind: 'always', fields: { always: 'id', sometimes: [] } },
      { kind: 'always', fields: { always: [], sometimes: [{ fields: ['id'] }] } },
    ]) {
      expect(await codeOf(client.filter(QUERY)), JSON.stringify(body)).to.equal('invalid-answer')
    }
    for (body of [{ kind: 'always' }, { kind: 'condition', ucast: UCAST }, { kind: 'never', sql: { text: '' } }]) {
      expect(await codeOf(client.filter(QUERY, { sql: TABLE })), JSON.stringify(body)).to.equal('invalid-answer')
    }
  })
})
