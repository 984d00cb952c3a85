/** What a key server that fails costs this server: no connection stays behind. */
import { expect } from 'chai'
import { fetchKeys } from '../../src/identity/keys/key-server.ts'
import { Loopback } from './loopback.ts'

const FAILURES = 20
/** More than a socket holds, so that whoever doesn't read it keeps its connection. */
const LONG = 'x'.repeat(2_000_000)

describe('connections to a key server that fails', () => {
  let server: Loopback
  let open = 0

  beforeEach(async () => {
    open = 0
    const seen = new WeakSet()
    server = await Loopback.start((request, response) => {
      if (!seen.has(request.socket)) {
        seen.add(request.socket)
        open++
        request.socket.on('close', () => open--)
      }
      response.writeHead(500).end(LONG)
    })
  })
  afterEach(() => server.stop())

  it('are closed, however long the answer that nobody reads', async () => {
    for (let i = 0; i < FAILURES; i++) {
      const failure = await fetchKeys(server.url, options()).catch((error: unknown) => error)
      expect(failure).to.include({ code: 'key-server-unavailable' })
    }
    expect(await settled()).to.equal(0)
  })

  it('would stay open with an answer that is left unread, which this test finds', async () => {
    const unread: Response[] = []
    for (let i = 0; i < FAILURES; i++) unread.push(await fetch(server.url, options()))
    expect(await settled()).to.equal(FAILURES)
    for (const { body } of unread) await body?.cancel()
    expect(await settled()).to.equal(0)
  })

  /** Connections that are open once closing ones had the time to close. */
  async function settled(): Promise<number> {
    for (let waited = 0; waited < 500 && open > 0; waited += 10) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return open
  }
})

function options() {
  const signal = AbortSignal.timeout(5_000)
  return { method: 'GET', headers: new Headers(), redirect: 'manual', signal } as const
}
