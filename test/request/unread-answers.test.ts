/** An answer that nobody can read any more is ended all the same, so whatever waits for its end goes on. */
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { expect } from 'chai'
import Koa, { type Context } from 'koa'
import { createHttpServer, runStages } from '../../src/server/http/http-server.ts'
import { present } from '../../src/server/stages/answer.ts'

describe('an answer on a connection that takes no more', () => {
  for (const [what, end, ended] of [
    ['is ended', present, true],
    ['is found not to be ended by a stage that leaves it', () => undefined, false],
  ] as const) {
    it(what, async () => {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const koa = new Koa()
      koa.use((ctx: Context) => {
        ctx.req.socket.end()
        end(ctx, {} as never, {} as never)
        resolve(ctx.res.writableEnded)
      })
      const server = createHttpServer(runStages(koa))
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
      client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
      expect(await promise).to.equal(ended)
      client.destroy()
      server.close()
      server.closeAllConnections()
    })
  }
})
