/** docs/http.md, "Browsers", as a real browser sees it: what a page of CORS_ORIGINS can do, and no other page. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { startChromium } from '../chromium.ts'
import { startTestServer, type TestServer } from '../server.ts'

/** What a page asks for, and what it can see of the answer. */
interface Fetched {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

describe('a page in a browser', () => {
  let browser: Browser
  let pages: Server
  let server: TestServer
  let port: number
  let token: string

  before(async () => {
    browser = await startChromium()
    pages = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<title>page</title>'))
    await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
    port = (pages.address() as AddressInfo).port
    server = await startTestServer({ demo: true, env: { CORS_ORIGINS: `http://localhost:${port}` } })
    token = await server.token('alice', 'member')
  })
  after(async () => {
    await server.stop()
    pages.close()
    await browser.close()
  })

  it('of CORS_ORIGINS lists by query, reads tags and links, and changes what it read', async () => {
    const list = await ask('localhost', { path: '/api/v1/notes?limit=1&sort=-createdAt' })
    expect([list.status, list.link?.includes('rel="next"')]).to.deep.equal([200, true])
    const path = `/api/v1/notes/${JSON.parse(list.text).items[0].id}`
    const { etag } = await ask('localhost', { path })
    const change = { method: 'PATCH', path, body: '{"title":"changed"}' }
    const headers = { 'Content-Type': 'application/merge-patch+json', 'If-Match': etag ?? '' }
    expect((await ask('localhost', { ...change, headers })).status).to.equal(200)
    expect((await ask('localhost', { ...change, headers })).status).to.equal(412)
  })

  it('of another origin can do none of it', async () => {
    const refused = await ask('127.0.0.1', { path: '/api/v1/notes?limit=1' }).catch(String)
    expect(refused).to.contain('Failed to fetch')
  })

  /** From a page of the host at the port of `pages`. */
  async function ask(host: string, { method = 'GET', path, headers, body }: Fetched) {
    const page = await browser.newPage()
    try {
      await page.goto(`http://${host}:${port}/`)
      const init = { method, headers: { ...headers, Authorization: `Bearer ${token}` }, ...(body ? { body } : {}) }
      return await page.evaluate(
        async ([url, options]) => {
          const answer = await fetch(url, options)
          const { headers: seen } = answer
          return { status: answer.status, etag: seen.get('etag'), link: seen.get('link'), text: await answer.text() }
        },
        [server.url + path, init] as const,
      )
    } finally {
      await page.close()
    }
  }
})
