/** A client that hangs up while its body waits to be read made a bad request; the server has no fault. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import { Problem } from '../../src/base/problems/problem.ts'
import { readBody } from '../../src/server/input/read-body.ts'

describe('a client that is gone before its body is read', () => {
  it('is a malformed request', async () => {
    const read = Promise.withResolvers<unknown>()
    const koa = new Koa()
    const server = createServer((request, response) => {
      request.on('error', () => undefined)
      const expected = { operation: 'create', resource: undefined as never, limitBytes: 1000 } as const
      request.once('close', () => {
        readBody(koa.createContext(request, response), expected).then(read.resolve, read.resolve)
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{'
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1', () => client.end(head))
    client.on('error', () => undefined)
    await once(client, 'connect')
    setTimeout(() => client.destroy(), 20)
    const error = await read.promise
    expect(error).to.be.instanceOf(Problem)
    expect(error).to.have.property('code', 'malformed-request')
    server.close()
  })
})
