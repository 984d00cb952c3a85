/** Who is counted by address: the peer, or what a trusted proxy says; a /64 of IPv6 is one client. */
import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { createClientAddress } from '../../src/server/http/client-address.ts'
import { startTestServer, type TestServer } from '../server.ts'

describe('the address of a client', () => {
  let server: TestServer
  afterEach(() => server.stop())

  it('is the peer, whatever X-Forwarded-For says, when no proxy is trusted', async () => {
    server = await startTestServer()
    for (const forwarded of ['203.0.113.1', '127.0.0.2', '::1', 'x'])
      expect(await addressFor(forwarded)).to.equal('127.0.0.1')
  })

  it('is not taken from X-Forwarded-For of a peer that is not trusted', async () => {
    server = await startTestServer({ env: { TRUST_PROXY: '10.0.0.0/8,192.0.2.1' } })
    expect(await addressFor('203.0.113.1')).to.equal('127.0.0.1')
  })

  it('is the last address that no trusted proxy has', async () => {
    server = await startTestServer({ env: { TRUST_PROXY: '127.0.0.0/8,10.0.0.0/8' } })
    for (const [forwarded, address] of [
      ['203.0.113.1', '203.0.113.1'],
      ['203.0.113.9, 203.0.113.1', '203.0.113.1'],
      ['203.0.113.9, 203.0.113.1, 10.1.2.3', '203.0.113.1'],
      ['203.0.113.9,10.1.2.3 , 10.9.9.9', '203.0.113.9'],
      ['10.1.2.3', '10.1.2.3'],
    ] as const) {
      expect(await addressFor(forwarded), forwarded).to.equal(address)
    }
    expect(await addressFor(undefined)).to.equal('127.0.0.1')
  })

  it('is the proxy itself where it passes on what is no address', async () => {
    server = await startTestServer({ env: { TRUST_PROXY: '127.0.0.1' } })
    for (const forwarded of ['unknown', '', ',', '203.0.113.1:80', '999.1.1.1', '203.0.113.1, x', '_hidden', '"']) {
      expect(await addressFor(forwarded), forwarded).to.equal('127.0.0.1')
    }
  })

  it('is the proxy itself where programs read the text as different addresses', async () => {
    server = await startTestServer({ env: { TRUST_PROXY: '127.0.0.1' } })
    for (const forwarded of ['167838211', '010.0.0.1', '0x7f000001', '10.1', '203.0.113.1, 0x7f000001']) {
      expect(await addressFor(forwarded), forwarded).to.equal('127.0.0.1')
    }
    expect(await addressFor('203.0.113.1, 127.0.0.1')).to.equal('203.0.113.1')
  })

  it('is the network of 64 bits for IPv6, and IPv4 in IPv6 is IPv4', async () => {
    server = await startTestServer({ env: { TRUST_PROXY: '127.0.0.1' } })
    for (const [forwarded, address] of [
      ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
      ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
      ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
      ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
      ['::1', '0:0:0:0::/64'],
      ['::ffff:203.0.113.1', '203.0.113.1'],
    ] as const) {
      expect(await addressFor(forwarded), forwarded).to.equal(address)
    }
  })

  it('is what limits by address count', async () => {
    const limits =
      'body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n  a: { per: address, allow: 1, window: 60s }\n'
    server = await startTestServer({ env: { TRUST_PROXY: '127.0.0.1' }, files: { 'policies/limits.yaml': limits } })
    const statuses = []
    for (const forwarded of [
      '203.0.113.1',
      '203.0.113.1',
      '203.0.113.2',
      '8.8.8.8, 203.0.113.2',
      '::ffff:203.0.113.1',
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8:0:1::1',
    ]) {
      statuses.push((await server.ask('GET', '/livez', { headers: { 'x-forwarded-for': forwarded } })).status)
    }
    expect(statuses).to.deep.equal([200, 429, 200, 429, 429, 200, 429, 200])
  })

  it('other headers that name an address have no effect', async () => {
    server = await startTestServer({ env: { TRUST_PROXY: '127.0.0.1' } })
    for (const name of ['forwarded', 'x-real-ip', 'x-client-ip', 'cf-connecting-ip', 'true-client-ip']) {
      await server.ask('GET', '/livez', {
        headers: { [name]: name === 'forwarded' ? 'for=203.0.113.1' : '203.0.113.1' },
      })
      expect((await server.lastDecision({ method: 'GET' }))?.address, name).to.equal('127.0.0.1')
    }
  })

  it('is whole for conditions of the policy', () => {
    const clientAt = createClientAddress(['127.0.0.1'])
    for (const [forwarded, whole, counted] of [
      ['2001:0DB8:1:2::1', '2001:db8:1:2::1', '2001:db8:1:2::/64'],
      ['::ffff:203.0.113.1', '203.0.113.1', '203.0.113.1'],
      ['unknown', '127.0.0.1', '127.0.0.1'],
    ]) {
      const request = { headers: { 'x-forwarded-for': forwarded }, socket: { remoteAddress: '127.0.0.1' } }
      expect(clientAt(request as unknown as IncomingMessage)).to.deep.equal({ counted, whole })
    }
  })

  async function addressFor(forwarded: string | undefined): Promise<unknown> {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    await server.ask('GET', '/livez', { headers })
    return (await server.lastDecision({ method: 'GET' }))?.address
  }
})
