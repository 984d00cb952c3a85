/** The open loop counts a latency from when the request was due, so it sees what a closed loop leaves out. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { openLoad } from '../../bench/machine/open.ts'

const STALL_MS = 1000

describe('an open loop', () => {
  let server: Server
  let answered: number
  let status: number
  beforeEach(async () => {
    answered = 0
    status = 200
    server = createServer((_request, response) => {
      answered += 1
      const answer = () => response.writeHead(status, { 'Content-Length': '2' }).end('{}')
      // One answer stalls; with one connection, all later requests wait behind it.
      if (answered === 10) setTimeout(answer, STALL_MS)
      else answer()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(() => {
    server.close()
    server.closeAllConnections()
  })

  const ask = (connections: number) => {
    const { port } = server.address() as AddressInfo
    const base = `http://127.0.0.1:${port}`
    return openLoad({ base, method: 'GET', paths: ['/a', '/b'], token: 't', connections, perSecond: 100, seconds: 1.5 })
  }

  it('sends each request that is due, and counts the time that it waited for the server', async () => {
    const found = await ask(1)
    expect(found.requests).to.equal(150)
    expect(answered).to.equal(150)
    // A hundred requests were due while the server stood still.
    expect(found.p50).to.be.greaterThan(0.1 * STALL_MS)
    expect(found.longest).to.be.at.least(STALL_MS - 1)
    expect(found.p999).to.be.at.least(found.p99).and.to.be.at.most(found.longest)
  })

  it('tells apart what a closed loop would have told: that one request was slow', async () => {
    const found = await ask(1)
    expect(found.fromSending.p50).to.be.lessThan(found.p50)
  })

  it('does not hide behind one connection: with more, the others go on', async () => {
    const found = await ask(8)
    expect(found.requests).to.equal(150)
    expect(found.p50).to.be.lessThan(found.longest)
  })

  it('sends a body with another number in each request', async () => {
    const bodies: string[] = []
    server.removeAllListeners('request').on('request', async (request, response) => {
      bodies.push(await text(request))
      response.writeHead(201, { 'Content-Length': '2' }).end('{}')
    })
    const { port } = server.address() as AddressInfo
    const order = { method: 'POST', paths: ['/a'], token: 't', body: '{"title":"%d é"}', connections: 4 }
    await openLoad({ ...order, base: `http://127.0.0.1:${port}`, perSecond: 100, seconds: 0.5 })
    expect(bodies.toSorted()).to.deep.equal(Array.from({ length: 50 }, (_, i) => `{"title":"${i + 1} é"}`).toSorted())
  })

  it('measures nothing where answers are errors', async () => {
    status = 503
    const error = await ask(1).catch((reason: Error) => reason)
    expect(error).to.be.an('error').with.property('message').that.contains('503 (150)')
  })
})
