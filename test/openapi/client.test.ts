/** docs/clients.md: what it shows is what runs, and it does what it says. */
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { program } from '../programs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { read } from './fixture.ts'

const run = promisify(execFile)

const CLIENT = new URL('../../examples/typescript-client/', import.meta.url).pathname

/** The code blocks of the page in a language. */
function blocks(language: string): readonly string[] {
  const found = read('docs/clients.md').matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))
  return [...found].map(([, code = '']) => code)
}

describe('docs/clients.md', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startTestServer({ demo: true })
    token = await server.token('alice', 'member')
  })
  after(() => server.stop())

  it('shows code of examples/typescript-client as it is', () => {
    const sources = ['connect', 'retry', 'notes'].map((name) => read(`examples/typescript-client/src/${name}.ts`))
    expect(blocks('ts')).to.have.length.greaterThan(2)
    for (const block of blocks('ts'))
      expect(
        sources.some((source) => source.includes(block.trim())),
        block,
      ).to.equal(true)
  })

  it('the generated client makes, pages, changes without losing an update, and understands problems', async () => {
    const { stdout } = await run(process.execPath, ['src/example.ts', server.url, token], { cwd: CLIENT })
    const { titles, ...rest } = JSON.parse(stdout)
    expect(titles).to.have.length.greaterThan(2)
    expect(titles[0]).to.equal('buy milk')
    expect(rest).to.deep.equal({
      made: 'buy milk',
      tags: Array.from({ length: 10 }, (_, i) => `tag ${i}`),
      offers: { mayDelete: true, inputs: ['ownerId', 'title', 'body', 'tags'] },
      faults: ['/title', '/tags'],
      removed: 204,
      gone: 'object-not-found',
    })
  })

  it('the curl lines do what stands beside them', async () => {
    const curl = program('curl')
    const script = `set -euo pipefail\ncurl() { '${curl}' "$@"; }\n${blocks('sh').join('\n')}`
    const env = { PATH: process.env.PATH, SALLYPORT: server.url, TOKEN: token }
    const { stdout } = await run('bash', ['-c', script], { env })
    const statuses = [...stdout.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))
    const promised = blocks('sh').flatMap((block) =>
      [...block.matchAll(/# -> (\d{3})/g)].map(([, status]) => Number(status)),
    )
    expect(promised).to.have.length.greaterThan(5)
    expect(stdout).to.match(/^Idempotency-Replayed: true/im)
    expect(statuses).to.deep.equal(promised)
  })
})

describe('the retries of the generated client', () => {
  it('wait as the server says, repeat what is safe to repeat, and give up', async () => {
    const seen: string[] = []
    const busy = createServer((request, response) => {
      seen.push(`${request.method} ${request.url}`)
      const status = Number(request.url?.slice(1))
      const enough = seen.filter((one) => one === seen.at(-1)).length === 3
      response.writeHead(enough ? 200 : status, { 'Retry-After': '0' }).end()
    })
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(busy.address() as AddressInfo).port}`
    const code = `
      import { fetchWithRetries } from './src/retry.ts'
      const status = async (...request) => (await fetchWithRetries(new Request(...request))).status
      const body = '{}'
      console.log(JSON.stringify([
        await status('${url}/429'),
        await status('${url}/503', { method: 'PUT', body }),
        await status('${url}/503', { method: 'POST', body }),
        await status('${url}/409', { method: 'POST', body, headers: { 'Idempotency-Key': 'k' } }),
        await status('${url}/412', { method: 'PUT', body }),
      ]))`
    try {
      const { stdout } = await run(process.execPath, ['--input-type=module-typescript', '-e', code], { cwd: CLIENT })
      expect(JSON.parse(stdout)).to.deep.equal([200, 200, 503, 200, 412])
      expect(seen.filter((one) => one === 'GET /429')).to.have.length(3)
      expect(seen.filter((one) => one === 'POST /503')).to.have.length(1)
    } finally {
      busy.close()
    }
  })
})
