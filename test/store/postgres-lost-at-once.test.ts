/** A connection that PostgreSQL ends at any moment ends its statement, and never the process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { Connections } from '../../src/store/postgres/connections/connections.ts'

const AUTHENTICATED = message('R', Buffer.from([0, 0, 0, 0]))
const READY = message('Z', Buffer.from('I'))
const ENDED = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'))

describe('a connection that PostgreSQL ends', () => {
  let server: Server
  let url: string
  let sockets: Set<Socket>

  before(async () => {
    sockets = new Set()
    server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined))
      // It opens the connection and ends it in one packet, as a primary that is killed may.
      socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATED, READY, ENDED])))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `postgres://user@127.0.0.1:${(server.address() as AddressInfo).port}/none?sslmode=disable`
  })
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  it('with the packet that opened it is a store that is not available', async () => {
    const connections = new Connections(url, { most: 10, pooler: 'none' })
    const pooled = new Connections(url, { most: 10, pooler: 'transaction' })
    const statement = { text: 'select 1', values: [] }
    for (const ask of [
      () => connections.slow(statement),
      () => connections.long(statement, { ms: 1000, by: { whose: 'alice' } }),
      () => connections.quick(statement),
      () => pooled.change(statement),
    ]) {
      const error = await ask().catch((one: unknown) => one)
      expect(error).to.be.instanceOf(StoreUnavailable)
    }
    await Promise.all([connections.close(), pooled.close()])
  })

  it('would end the process if nobody listened (negative control)', async () => {
    const script = `
      import pg from 'pg'
      const pool = new pg.Pool({ connectionString: ${JSON.stringify(url)} })
      pool.on('error', () => undefined)
      const client = await pool.connect().catch(() => undefined)
      client?.on('error', () => undefined)
      setTimeout(() => process.exit(0), 500)
    `
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { cwd: import.meta.dirname })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text
    })
    const [code] = await once(child, 'exit')
    expect(code).to.equal(1)
    expect(said).to.include('unexpected postmaster exit')
  })
})

/** https://www.postgresql.org/docs/15/protocol-message-formats.html */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}
