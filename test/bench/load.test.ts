/** wrk's figures are those of a whole trial, however short it was to be. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { load } from '../../bench/machine/load.ts'
import { program } from '../programs.ts'

describe('a trial', () => {
  let server: Server
  before(async () => {
    program('wrk')
    server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(() => server.close())

  it('that ends before wrk has begun is tried again, for longer', async () => {
    const { port } = server.address() as AddressInfo
    const requests = { method: 'GET', paths: ['/'], token: 't', connections: 2 }
    const { requests: answered, p50 } = await load(`http://127.0.0.1:${port}`, requests, 0.001)
    expect(answered).to.be.greaterThan(0)
    expect(p50).to.be.greaterThan(0)
  })
})
