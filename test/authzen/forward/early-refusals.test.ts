/** What a gateway is told when a request is refused before it is known who asks. */
import { type AskedServer, ask, expectRefused, PROFILES, startAskedServer, told } from './asking.ts'

const LIMITS = `body: 100kb
page: { default: 50, max: 200 }
limits:
  each: { per: address, allow: 5, window: 1h }
`

describe('a gateway whose client is refused early', () => {
  let server: AskedServer
  const proxied = (profile: (typeof PROFILES)[number], address: string, more: readonly string[] = []) =>
    ask(server.url, { profile, key: server.key, more: [`X-Forwarded-For: ${address}`, ...more] })

  afterEach(() => server.stop())

  it('is told a status that it passes on for an address over its limit, and other clients pass', async () => {
    server = await startAskedServer({
      env: { TRUST_PROXY: '127.0.0.1,::1' },
      files: { 'policies/limits.yaml': LIMITS },
    })
    for (const [i, profile] of PROFILES.entries()) {
      const address = `192.0.2.${i + 1}`
      const refusals: Awaited<ReturnType<typeof ask>>[] = []
      for (let n = 0; n < 8; n++) refusals.push(await proxied(profile, address))
      // The first refusal counts the request; the later ones know the address.
      for (const refusal of refusals.slice(-3)) expectRefused(refusal, told(profile, 429), 'quota-exceeded')
      expectRefused(await proxied(profile, `198.51.100.${i + 1}`), 401, 'credentials-missing')
    }
  })

  it('is refused for the flood of another client where TRUST_PROXY does not name the gateway', async () => {
    server = await startAskedServer({ files: { 'policies/limits.yaml': LIMITS } })
    for (let n = 0; n < 5; n++) expectRefused(await proxied('nginx', '192.0.2.1'), 401, 'credentials-missing')
    expectRefused(await proxied('nginx', '198.51.100.1'), 403, 'quota-exceeded')
  })

  it('is told one for a request with faults of HTTP', async () => {
    server = await startAskedServer()
    for (const profile of PROFILES) {
      const headers = Array.from({ length: 120 }, (_, i) => `X-${i}: 1`)
      expectRefused(await proxied(profile, '192.0.2.1', headers), told(profile, 431), 'headers-too-large')
      expectRefused(await proxied(profile, '192.0.2.1', ['Expect: much']), told(profile, 417), 'expectation-failed')
    }
  })
})
