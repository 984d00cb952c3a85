/** docs/gateways.md, run as printed, and the example for Traefik, which nothing here can run. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { missingFrom } from '../../documented.ts'
import { type PlayedPage, playPage } from '../../page.ts'
import { program } from '../../programs.ts'

const ROOT = new URL('../../..', import.meta.url).pathname
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

const IDENTITY = ['Subject', 'Roles', 'Revision', 'Request'].map((name) => `X-Sallyport-${name}`)

describe('docs/gateways.md', () => {
  let page: PlayedPage
  before(async () => {
    program('curl')
    page = await playPage('docs/gateways.md', ['npm start'])
  })
  after(() => page.stop())

  it('shows what its commands print', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length(2)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
    expect(missingFrom(shown[0]?.printed ?? '', ['what nobody printed'])).to.deep.equal(['what nobody printed'])
  })

  it('has no command that fails', () => {
    expect(page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])).to.deep.equal([])
  })
})

describe('the example for Traefik', () => {
  const { routers, middlewares } = parse(read('deploy/gateways/traefik.yml')).http
  const [first, asks, last] = routers.application.middlewares as readonly [string, string, string]
  const before = middlewares[first].headers.customRequestHeaders as Record<string, string>

  it('takes away what only the gateway says, asks, and takes the key away', () => {
    const { 'X-Sallyport-Key': key, ...taken } = before
    expect(key).to.equal('{{ env "SALLYPORT_KEY" }}')
    expect(new Set(Object.values(taken))).to.deep.equal(new Set(['']))
    expect(Object.keys(taken)).to.include.members(IDENTITY)
    expect(middlewares[last].headers.customRequestHeaders).to.deep.equal({ 'X-Sallyport-Key': '' })
    expect(routers.application.rule).to.equal('PathPrefix(`/`)')
  })

  it('asks its profile, believes no header of the client, and replaces every identity header', () => {
    expect(middlewares[asks].forwardAuth).to.deep.equal({
      address: 'http://sallyport.internal:3000/access/v1/forward/traefik',
      trustForwardHeader: false,
      authRequestHeaders: ['Authorization', 'X-Sallyport-Key'],
      authResponseHeaders: IDENTITY,
    })
  })

  it('takes away the same headers as the example for nginx', () => {
    const names = [...read('deploy/gateways/nginx.conf').matchAll(/proxy_set_header (\S+) "";/g)].map(
      ([, name]) => name,
    )
    const wanted = names.filter((name) => !/^(?:Connection|Content-.*|X-Sallyport-Key)$/.test(name ?? ''))
    const taken = Object.keys(before).map((name) => name.toLowerCase())
    expect(wanted.length).to.be.greaterThan(5)
    expect(wanted.filter((name) => !taken.includes((name ?? '').toLowerCase()))).to.deep.equal([])
  })
})
