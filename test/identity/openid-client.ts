/** What a client of examples/openid-provider.ts does to get tokens: as a machine, and as a person with a browser. */
import { AUDIENCE, SECRET } from '../../examples/openid-provider.ts'

/** `roles.yaml` for what the provider says of its callers. */
export const ROLES_BY_CLAIM = `
member: { description: Everybody., claims: [customers] }
support: { description: Helps., privileged: true }
auditor: { description: Sees., claims: [/groups/audit] }
admin: { description: Runs., privileged: true }
pdp-client: { description: Asks. }
`

interface Tokens {
  readonly access_token: string
  readonly id_token: string
}

const RETURN = 'http://127.0.0.1:1/signed-in'

/** RFC 6749 section 4.4, for a resource of RFC 8707. */
export async function tokenOf(issuer: string, client: string, resource = AUDIENCE): Promise<string> {
  return (await redeem(issuer, client, { grant_type: 'client_credentials', resource })).access_token
}

/** RFC 6749 section 4.1 with PKCE: the provider's own pages for development are filled in. */
export async function signInAs(issuer: string, login: string): Promise<Tokens> {
  const verifier = 'v'.repeat(64)
  const browser = new Browser()
  let page = await browser.get(`${issuer}/auth?${await question(verifier)}`)
  for (const form of [{ prompt: 'login', login, password: 'any' }, { prompt: 'consent' }]) {
    page = await browser.post(new URL(/action="([^"]+)"/.exec(page.text)?.[1] ?? '', issuer).href, form)
  }
  const code = new URL(page.url).searchParams.get('code') ?? ''
  return redeem(issuer, 'page', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: RETURN,
    code_verifier: verifier,
  })
}

async function question(verifier: string): Promise<URLSearchParams> {
  const hash = await crypto.subtle.digest('SHA-256', Buffer.from(verifier))
  return new URLSearchParams({
    client_id: 'page',
    response_type: 'code',
    scope: 'openid',
    nonce: 'n-1',
    redirect_uri: RETURN,
    resource: AUDIENCE,
    code_challenge_method: 'S256',
    code_challenge: Buffer.from(hash).toString('base64url'),
  })
}

async function redeem(issuer: string, client: string, form: Readonly<Record<string, string>>): Promise<Tokens> {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client}:${SECRET}`)}` },
    body: new URLSearchParams(form),
  })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as Tokens
}

interface Page {
  readonly url: string
  readonly text: string
}

/** Keeps cookies, and follows redirects until one leads to the client. */
class Browser {
  readonly #cookies = new Map<string, string>()

  get(url: string): Promise<Page> {
    return this.#ask(url, {})
  }

  post(url: string, form: Readonly<Record<string, string>>): Promise<Page> {
    return this.#ask(url, { method: 'POST', body: new URLSearchParams(form) })
  }

  async #ask(url: string, request: RequestInit): Promise<Page> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { ...request, redirect: 'manual', headers: { cookie } })
    for (const set of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';')[0] ?? '').split('=')
      this.#cookies.set(name, value)
    }
    const to = response.headers.get('location')
    if (to === null) return { url, text: await response.text() }
    const next = new URL(to, url).href
    return next.startsWith(RETURN) ? { url: next, text: '' } : this.get(next)
  }
}
