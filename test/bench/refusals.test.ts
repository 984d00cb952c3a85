/** What was measured is what was meant: a server that answers wrongly, or an error under load, is never a figure. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { densest } from '../../bench/engines/bursts.ts'
import { BenchFailure } from '../../bench/failure.ts'
import type { Target } from '../../bench/fixture/shape.ts'
import { readFigures } from '../../bench/machine/load.ts'
import { refuseWrongStatuses } from '../../bench/machine/server.ts'
import { withServers } from '../../bench/rounds.ts'

const TARGET: Target = {
  path: '/notes/',
  token: 'mine',
  adminToken: 'admin',
  ids: ['own'],
  otherId: 'other',
  missingId: 'missing',
  expect: [200, 403, 401, 404, 200, 405],
}

/** As the server answers. */
function statusOf(method: string | undefined, url: string | undefined, token: string | undefined): number {
  if (method !== 'GET') return 405
  if (token === undefined) return 401
  if (url === '/notes/missing') return 404
  return url === '/notes/other' && token !== 'Bearer admin' ? 403 : 200
}

const sound: RequestListener = ({ method, url, headers }, response) => {
  const status = statusOf(method, url, headers.authorization)
  response.writeHead(status).end(JSON.stringify({ id: url?.split('/').at(-1) }))
}

describe('what the bench refuses to measure', () => {
  let server: Server | undefined
  afterEach(() => {
    server?.close()
    server?.closeAllConnections()
  })

  async function check(listener: RequestListener): Promise<string> {
    server = createServer(listener)
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    try {
      await refuseWrongStatuses(`http://127.0.0.1:${port}`, TARGET)
      return 'measured'
    } catch (error) {
      expect(error).to.be.instanceOf(BenchFailure)
      return (error as BenchFailure).message
    }
  }

  it('measures a server that answers all six cases as it must', async () => {
    expect(await check(sound)).to.equal('measured')
  })

  it('refuses a server that lets everybody in', async () => {
    const open: RequestListener = ({ url }, response) => response.end(JSON.stringify({ id: url?.split('/').at(-1) }))
    expect(await check(open)).to.include("(another's: 200 in place of 403)")
  })

  it('refuses a server that answers with another object', async () => {
    const constant: RequestListener = (_request, response) => response.end('{"id":"else"}')
    expect(await check(constant)).to.include('(own: another object than was asked for)')
  })

  it('refuses a server that breaks the connection', async () => {
    expect(await check((request) => request.destroy())).to.include('(own: no answer)')
  })

  it('measures the others without a peer that fails, and says so, but not without ours', async () => {
    const broken = { name: 'broken', command: [process.execPath, '--no-such-flag'], target: TARGET }
    const leftOut: string[] = []
    expect(await withServers([{ ...broken, mayFail: true }], async (servers) => servers, leftOut)).to.deep.equal([])
    expect(leftOut.join()).to.match(/^`broken`: it ended with code 9: /)
    const ours = await withServers([broken], async () => 'measured').catch((error) => error)
    expect(ours).to.be.instanceOf(BenchFailure)
  })

  it('refuses figures with errors among the answers', () => {
    const clean = 'RESULT 1000 2000000 500 900 2000 0\n'
    expect(readFigures(clean, '')).to.include({ perSecond: 500, p50: 0.5, p99: 0.9, longest: 2 })
    expect(() => readFigures('RESULT 1000 2000000 500 900 2000 3\n', '')).to.throw(BenchFailure, '3 of 1000 answers')
    expect(() => readFigures('', 'unable to connect')).to.throw(BenchFailure, 'unable to connect')
  })

  it('finds the densest second, whatever the order', () => {
    expect(densest([])).to.equal(0)
    expect(densest([0, 999_999])).to.equal(2)
    expect(densest([0, 1_000_000])).to.equal(1)
    expect(densest([2_500_000, 0, 900_000, 1_100_000, 1_800_000])).to.equal(3)
  })
})
