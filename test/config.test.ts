/** A bad setting is refused in a sentence that names it. That the sentence is all that a user sees is held by process.test.ts. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { readConfig } from '../src/config.ts'

const BAD = [
  ['PORT', 'eighty'],
  ['ADMIN_PORT', '65536'],
  ['ADMIN_HOST', 'not a host'],
  ['ADMIN_TOKEN', 'a secret with spaces'],
  ['ADMIN_TOKEN', 'secret'],
  ['HOST', 'not a host'],
  ['WORKERS', '0'],
  ['TRUST_PROXY', '10.0.0.0/33'],
  ['TRUST_PROXY', '0.0.0.0/0'],
  ['REDIS_URL', 'http://user:secret@example.com'],
  ['DATABASE_URL', 'postgres://user:secret@db/x'],
  ['LIMIT_INSTANCES', '0'],
  ['JWT_JWKS_URL', 'http://user:secret@example.com/keys'],
  ['JWT_PUBLIC_KEY', '/nowhere/key.pem'],
  ['LOG_LEVEL', 'loud'],
  ['OIDC_ISSUER', 'https://example.com'],
  ['OIDC_AUDIENCE', 'https://api.example.com'],
  ['OIDC_CLIENT_SECRET', 'secret'],
] as const

/** Those that src/main.ts prints without a stack. */
const FOR_PEOPLE = ['ConfigError', 'KeyError']

describe('a setting', () => {
  for (const [name, value] of BAD) {
    it(`${name}=${value} is refused, naming ${name} and no secret`, () => {
      const error = refusalOf({ [name]: value })
      expect(error?.name).to.be.oneOf(FOR_PEOPLE)
      expect(error?.message).to.match(new RegExp(`^${name} `))
      expect(error?.message).to.not.include('secret')
    })
  }

  it('is refused for what it is, not for others: the defaults are taken', () => {
    expect(refusalOf({})).to.equal(undefined)
  })

  it('is in docs/configuration.md, which names no other', () => {
    const page = readFileSync(new URL('../docs/configuration.md', import.meta.url), 'utf8')
    const rows = [...page.matchAll(/^\| (`[A-Z].*?) \|/gm)].map(([, names = '']) => names)
    const told = rows.flatMap((names) => [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name))
    const signals = ['SIGTERM', 'SIGINT', 'SIGHUP']
    expect(told.filter((name = '') => !signals.includes(name)).toSorted()).to.deep.equal(settings().toSorted())
  })
})

/** Those that readConfig looks up, and those of the provider, which a refusal lists. */
function settings(): readonly string[] {
  const read = new Set<string>()
  const environment = new Proxy({}, { get: (_, name) => void read.add(String(name)) })
  readConfig(environment)
  const [, provider = ''] = /use one of (.*)/.exec(refusalOf({ OIDC_X: 'x' })?.message ?? '') ?? []
  return [...new Set([...read, ...provider.split(', ')])]
}

function refusalOf(environment: Readonly<Record<string, string>>): Error | undefined {
  try {
    readConfig(environment)
    return undefined
  } catch (error) {
    return error as Error
  }
}
