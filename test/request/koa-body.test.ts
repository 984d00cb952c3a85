/** Why bodies are parsed behind koa-body, and not by it (docs/decisions/0039): what its own parser takes, and this server refuses. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import Koa from 'koa'
import { koaBody } from 'koa-body'
import { startTestServer, type TestServer } from '../server.ts'

const JSON_TYPE = 'application/json'

interface Refused {
  readonly what: string
  readonly body: string | Uint8Array
  readonly type?: string
  readonly encoding?: string
  readonly status: 400 | 415
}

const REFUSED: readonly Refused[] = [
  { what: 'a byte order mark', body: '\uFEFF{"title":"t"}', status: 400 },
  { what: 'a name that stands twice', body: '{"title":"t","title":"u"}', status: 400 },
  { what: 'a number that a double rounds', body: '{"title":"t","n":9007199254740993}', status: 400 },
  { what: 'a lone surrogate', body: '{"title":"\\ud800"}', status: 400 },
  { what: 'bytes that are not UTF-8', body: Buffer.from('{"title":"\xff"}', 'latin1'), status: 400 },
  { what: 'nested arrays without end', body: `{"title":${'['.repeat(5000)}${']'.repeat(5000)}}`, status: 400 },
  { what: 'a compressed body', body: gzipSync('{"title":"t"}'), encoding: 'gzip', status: 415 },
]

describe("koa-body's own JSON parser", () => {
  let sallyport: TestServer
  let plain: Server
  before(async () => {
    sallyport = await startTestServer()
    const app = new Koa().use(koaBody()).use((ctx) => {
      ctx.body = JSON.stringify(ctx.request.body ?? null)
    })
    plain = app.listen(0, '127.0.0.1')
    await once(plain, 'listening')
  })
  after(async () => {
    plain.close()
    await sallyport.stop()
  })

  async function send(
    url: string,
    { body, type, encoding }: Pick<Refused, 'body' | 'type' | 'encoding'>,
    method = 'POST',
  ) {
    const headers = {
      'Content-Type': type ?? JSON_TYPE,
      Authorization: `Bearer ${await sallyport.token('alice', 'member')}`,
      ...(encoding && { 'Content-Encoding': encoding }),
    }
    const answer = await fetch(url, { method, headers, body: new Blob([body as string]) })
    return { status: answer.status, text: await answer.text() }
  }
  const plainUrl = () => `http://127.0.0.1:${(plain.address() as AddressInfo).port}/`

  for (const refused of REFUSED) {
    it(`takes ${refused.what}, which this server refuses`, async () => {
      expect((await send(plainUrl(), refused)).status).to.equal(200)
      expect((await send(`${sallyport.url}/api/v1/notes`, refused)).status).to.equal(refused.status)
    })
  }

  it('leaves a merge patch unread', async () => {
    const patch = { body: '{"title":"u"}', type: 'application/merge-patch+json' }
    expect((await send(plainUrl(), patch, 'PATCH')).text).to.not.include('title')
  })
})
