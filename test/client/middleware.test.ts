/** A guarded route runs after a permit alone: not after a denial, and not after any fault (Koa, Express and Fastify). */
import { expect } from 'chai'
import { AuthzenClient } from '../../packages/client/src/index.ts'
import { type AuthzenServer, startAuthzenServer } from './authzen-server.ts'
import { FRAMEWORKS, type Service, type Watched } from './frameworks.ts'

for (const [name, start] of Object.entries(FRAMEWORKS)) {
  describe(`the middleware for ${name}`, () => {
    let server: AuthzenServer
    let client: AuthzenClient
    let service: Service
    let watched: Watched

    beforeEach(async () => {
      server = await startAuthzenServer()
      client = new AuthzenClient({ url: server.url, timeoutMs: 20_000 })
      watched = {
        subject: ({ user }) => (typeof user === 'string' ? { type: 'user', id: user } : undefined),
        ran: [],
        denied: [],
        faults: [],
      }
      service = await start(client, watched)
    })
    afterEach(async () => {
      await service.stop()
      client.close()
      await server.stop()
    })

    async function ask(path: string, user: string | undefined, method = 'GET') {
      const answer = await fetch(service.url + path, { method, headers: user === undefined ? {} : { user } })
      return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) }
    }

    function answering(body: unknown, status = 200): void {
      server.instead = (_received, response) => {
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
        return true
      }
    }

    it('runs the handler after a permit, and gives it the decision', async () => {
      expect(await ask('/records/record-1', 'alice')).to.deep.include({ status: 200, body: { decision: true } })
      expect(server.received[0]?.body).to.deep.equal({
        subject: { type: 'user', id: 'alice' },
        action: { name: 'read' },
        resource: { type: 'record', id: 'record-1' },
        context: { from: 'test' },
      })
      expect((await ask('/records/record-1', 'alice', 'DELETE')).status).to.equal(200)
      expect((await ask('/first', 'alice')).status).to.equal(200)
      expect(server.received[2]?.body.resource.properties).to.deep.equal({ status: 'active' })
      expect(watched.ran).to.deep.equal(['/records/record-1', '/records/record-1', '/first'])
    })

    it('answers a denial with 403, and tells strangers no reason', async () => {
      answering({ decision: false, context: { reason: 'not-owner' } })
      const { status, headers, body } = await ask('/records/record-1', 'alice')
      expect({ status, body }).to.deep.equal({ status: 403, body: { title: 'Forbidden', status: 403 } })
      expect(headers.get('content-type')).to.match(/^application\/problem\+json/)
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(watched.denied).to.deep.equal([{ decision: false, context: { reason: 'not-owner' } }])
      expect(watched.ran).to.deep.equal([])
    })

    it('answers 401 when nobody is signed in, without a question', async () => {
      for (const nobody of [undefined, null]) {
        watched.subject = () => nobody
        const { status, headers } = await ask('/records/record-1', undefined)
        expect(status).to.equal(401)
        expect(headers.get('www-authenticate')).to.equal('Bearer')
      }
      expect(server.received).to.deep.equal([])
      expect(watched.ran).to.deep.equal([])
    })

    it('answers every fault with 503, tells of it, and runs nothing', async () => {
      const faults: readonly (() => void)[] = [
        () => answering({ decision: true }, 500),
        () => answering({ decision: true }, 401),
        () => answering({ decision: 'true' }),
        () => answering([{ decision: true }]),
        () => answering({ decision: true }, 302),
        () => {
          watched.subject = () => {
            throw new Error('the session store is down')
          }
        },
      ]
      for (const fault of faults) {
        fault()
        const { status, headers, body } = await ask('/records/record-1', 'alice')
        expect({ status, body }).to.deep.equal({ status: 503, body: { title: 'Service Unavailable', status: 503 } })
        expect(headers.get('retry-after')).to.equal('1')
      }
      expect(watched.faults).to.have.length(faults.length)
      expect(watched.ran).to.deep.equal([])
    })

    it('refuses when the server is down, and when the route names no resource', async () => {
      expect((await ask('/lost', 'alice')).status).to.equal(503)
      expect(server.received).to.deep.equal([])
      await server.stop()
      expect((await ask('/records/record-1', 'alice')).status).to.equal(503)
      expect(watched.faults.map((fault) => (fault as { readonly code: string }).code)).to.deep.equal([
        'not-asked',
        'unreachable',
      ])
      expect(watched.ran).to.deep.equal([])
    })

    it('refuses a permit with obligations that the program does not fulfil', async () => {
      const obligations = [{ id: 'o1', type: 'step-up' }]
      answering({ decision: true, context: { obligations } })
      expect((await ask('/records/record-1', 'alice')).status).to.equal(403)
      watched.fulfil = (asked) => JSON.stringify(asked) === JSON.stringify(obligations)
      expect((await ask('/records/record-1', 'alice')).status).to.equal(200)
      answering({ decision: true, context: { obligations: 'step-up' } })
      expect((await ask('/records/record-1', 'alice')).status).to.equal(403)
      answering({ decision: true, context: { obligations: [] } })
      expect((await ask('/records/record-1', 'alice')).status).to.equal(200)
      expect(watched.ran).to.have.length(2)
    })
  })
}
