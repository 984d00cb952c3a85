/** A bad setting is refused in a sentence that names it. That the sentence is all that a user sees is held by process.test.ts. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { readConfig } from '../src/config/config.ts'
import { fixOf } from '../src/config/fix-of.ts'
import { refuseMissingFolders } from '../src/config/start/folders.ts'

const BAD = [
  ['PORT', 'eighty'],
  ['ADMIN_PORT', '65536'],
  ['ADMIN_HOST', 'not a host'],
  ['CONSOLE_PORT', 'on'],
  ['CONSOLE_HOST', 'not a host'],
  ['ADMIN_TOKEN', 'a secret with spaces'],
  ['ADMIN_TOKEN', 'secret'],
  ['HOST', 'not a host'],
  ['INSTANCE', 'two words'],
  ['INSTANCE', 'a'.repeat(65)],
  ['WORKERS', '0'],
  ['TRUST_PROXY', '10.0.0.0/33'],
  ['TRUST_PROXY', '0.0.0.0/0'],
  ['TRUST_PROXY', '167838211'],
  ['TRUST_PROXY', '010.0.0.1'],
  ['TRUST_PROXY', '0x7f000001'],
  ['TRUST_PROXY', '10.1/16'],
  ['TRUST_PROXY', '10.0.0.0/08'],
  ['REDIS_URL', 'http://user:secret@example.com'],
  ['REDIS_URL', 'redis://:secret%word@example.com'],
  ['REDIS_URL', 'redis-sentinel://:secret@one,two'],
  ['REDIS_URL', 'redis-sentinel://:secret@one/name/x'],
  ['REDIS_URL', 'redis-sentinel://one/name?sentinelPassword=secret'],
  ['REDIS_URL', 'redis-sentinel://:secret%word@one/name'],
  ['REDIS_URL', 'redis-cluster://:secret@one:65536'],
  ['REDIS_URL', 'rediss-cluster://user:secret@one,two/1'],
  ['REDIS_URL', 'redis-clusters://user:secret@one'],
  ['DATABASE_URL', 'mysql://user:secret@db/x'],
  ['DATABASE_URL', 'sqlite:'],
  ['DATABASE_URL', 'postgres://user:secret@db/x'],
  ['DATABASE_URL', 'postgres://user:secret@db/x?sslmode=require'],
  ['DATABASE_URL', 'postgres://user:secret@db/x?sslmode=verify-full&secret=1'],
  ['DATABASE_URL', 'postgres://user:secret@localhost'],
  ['DATABASE_URL', 'postgres://user:secret@local host/x'],
  ['DATABASE_URL', 'postgres://user:secret@localhost:1,localhost:2/x'],
  ['DATABASE_URL', 'postgres://user:secret@localhost,,localhost:2/x?target_session_attrs=read-write'],
  ['DATABASE_URL', 'postgres://user:secret@localhost/x?target_session_attrs=standby'],
  ['DECISION_LOG_SEND', 'collector.example.com'],
  ['DECISION_LOG_SEND', 'ftp://collector.example.com'],
  ['DECISION_LOG_SEND', 'syslog+tcp://collector.example.com'],
  ['DECISION_LOG_SEND', 'syslog+tls://collector.example.com/secret'],
  ['DECISION_LOG_SEND', 'otlp+https://user:secret@collector.example.com'],
  ['DECISION_LOG_SEND', 'https://collector.example.com/#secret'],
  ['LOG_WITNESS', 'https://witness.example.com'],
  ['LOG_WITNESS_KEY', 'witness.example.com+00000000+BAAA'],
  ['DECISION_LOG_SEND_HEADERS', 'authorization=secret'],
  ['WEBHOOK_NETWORKS', '10.0.0.0/33'],
  ['WEBHOOK_NETWORKS', '10.0.0.0/8,https://user:secret@erp.example.com'],
  ['WEBHOOK_CA', '/nowhere/ca.pem'],
  ['DATABASE_POOL', '3'],
  ['DATABASE_POOLER', 'session'],
  ['LIMIT_INSTANCES', '0'],
  ['JWT_JWKS_URL', 'http://user:secret@example.com/keys'],
  ['JWT_JWKS_URL', 'https://user:secret@example.com/keys'],
  ['JWT_PUBLIC_KEY', 'secret-text-of-a-key'],
  ['PUBLIC_URL', 'https://user:secret@api.example.com'],
  ['CORS_ORIGINS', 'https://user:secret@app.example.com'],
  ['HOST', 'http://user:secret@app.example.com'],
  ['HOST', 'user:secret@app.example.com'],
  ['PUBLIC_URL', 'https:\\\\user:secret@api.example.com'],
  ['PUBLIC_URL', 'https://user:my secret@api.example.com'],
  ['JWT_PUBLIC_KEY', '/nowhere/key.pem'],
  ['KEYS_SECRET', 'secret'],
  ['KEYS_SECRET', 'secret with spaces, however long it may be, is no base64'],
  ['KEYS_SECRET', randomBytes(31).toString('base64url')],
  ['KEYS_SECRET', 'secret'.repeat(10)],
  ['KEYS_SECRET', randomBytes(257).toString('base64url')],
  ['KEYS_SECRET_OLD', randomBytes(32).toString('base64url')],
  ['LOG_LEVEL', 'loud'],
  ['OIDC_ISSUER', 'https://example.com'],
  ['OIDC_AUDIENCE', 'https://api.example.com'],
  ['OIDC_CLIENT_SECRET', 'secret'],
] as const

/** Those that src/main.ts prints without a stack. */
const FOR_PEOPLE = ['ConfigError', 'KeyError']

describe('a setting', () => {
  for (const [name, value] of BAD) {
    it(`${name}=${value.slice(0, 60)} is refused, naming ${name} and no secret`, () => {
      const error = refusalOf({ [name]: value })
      expect(error?.name).to.be.oneOf(FOR_PEOPLE)
      expect(error?.message).to.match(new RegExp(`^${name} `))
      expect(error?.message).to.not.include('secret')
    })
  }

  it('of sending the decision log fits the others, or is refused in a sentence that says what to do', () => {
    const send = 'https://collector.example.com/in'
    for (const [environment, message] of [
      [
        { LOG_WITNESS: 'https://w', LOG_WITNESS_KEY: 'x', DECISION_LOG_FILE: '-' },
        /^LOG_WITNESS needs a log in a file/,
      ],
      [{ LOG_WITNESS: 'ftp://w', LOG_WITNESS_KEY: 'x' }, /^LOG_WITNESS is no address/],
      [{ LOG_WITNESS: 'https://w', LOG_WITNESS_KEY: 'secret' }, /^LOG_WITNESS_KEY is no key of a witness/],
      [{ DECISION_LOG_SEND: send, DECISION_LOG_FILE: '-' }, /^DECISION_LOG_SEND needs a log in a file, .*; unset one/],
      [
        { DECISION_LOG_SEND: send, DECISION_LOG_SEND_HEADERS: 'secret' },
        /^DECISION_LOG_SEND_HEADERS .* at place 1; write/,
      ],
      [
        { DECISION_LOG_SEND: send, DECISION_LOG_SEND_HEADERS: 'a=%secret' },
        /^DECISION_LOG_SEND_HEADERS .* at place 1; write/,
      ],
      [
        { DECISION_LOG_SEND: send, DECISION_LOG_SEND_HEADERS: 'Host=secret' },
        /^DECISION_LOG_SEND_HEADERS .* \(host\); omit it/,
      ],
      [{ DECISION_LOG_SEND: send, DECISION_LOG_SEND_HEADERS: 'a=secret%0Ab:c' }, /^DECISION_LOG_SEND_HEADERS .*\(a\);/],
      [
        { DECISION_LOG_SEND: send, DECISION_LOG_SEND_CA: '/nowhere' },
        /^DECISION_LOG_SEND_CA is "\/nowhere", which can't be/,
      ],
      [{ DECISION_LOG_SEND: send, DECISION_LOG_SEND_CERT: 'README.md' }, /CERT and DECISION_LOG_SEND_KEY belong tog/],
      [{ DECISION_LOG_SEND: 'syslog+tls://a', DECISION_LOG_SEND_HEADERS: 'a=b' }, /HEADERS is set, but syslog has no/],
      [{ DECISION_LOG_SEND: 'http://a', DECISION_LOG_SEND_CA: 'README.md' }, /^DECISION_LOG_SEND has no TLS, but/],
    ] as const) {
      const error = refusalOf(environment)
      expect(error?.name).to.equal('ConfigError')
      expect(error?.message, JSON.stringify(environment)).to.match(message)
      expect(error?.message).not.to.include('secret')
    }
    const { decisionLog } = readConfig({ DECISION_LOG_SEND: 'syslog+tls://collector.example.com' })
    expect(decisionLog.send?.url.href).to.equal('tls://collector.example.com:6514')
  })

  it('repeats no key, password or token that somebody has given in its place', async () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const { d = '' } = privateKey.export({ format: 'jwk' })
    const key = randomBytes(32).toString('base64')
    const secrets: readonly (readonly [string, string])[] = [
      [pem, pem.split('\n')[1] ?? ''],
      [pem.replaceAll('\n', '\\n'), pem.split('\n')[1] ?? ''],
      [JSON.stringify({ kty: 'OKP', d }), d],
      ['postgres://user:pass-word@db/x', 'pass-word'],
      ['postgres://db/x?password=pass-word', 'pass-word'],
      [key, key.slice(0, 12)],
      [key, key.slice(-12)],
      ['sp_5jUNWrRYyv_8tQm2ZbXk4nVw7sYc1pRd6fGh3jLx9eA', '8tQm2ZbX'],
    ]
    const folders = async (settings: Readonly<Record<string, string>>) =>
      refuseMissingFolders(readConfig(settings)).catch((error: Error) => error)
    let refused = 0
    for (const name of settings()) {
      for (const [value, part] of secrets) {
        const error = refusalOf({ [name]: value }) ?? (await folders({ [name]: value }))
        expect(error?.message ?? '', name).to.not.include(part)
        if (error?.message.startsWith(name)) refused += 1
      }
    }
    // The negative control: most settings refuse most of them.
    expect(refused).to.be.greaterThan(20 * secrets.length)
    expect(refusalOf({ PORT: 'eighty' })?.message).to.include('eighty')
    expect((await folders({ POLICIES: 'my-policies/of_2027' }))?.message).to.include('my-policies/of_2027')
  })

  it('that is refused has a command that fixes it: the command that failed, with a value that is taken', () => {
    for (const [name, value] of BAD) {
      const fix = fixOf(refusalOf({ [name]: value })) ?? ''
      expect(fix, name).to.match(/ \{again\}$/)
      const [, other, set] = /^(?:env -u (\w+)|(?:\w+=(\S+))) \{again\}$/.exec(fix) ?? []
      if (/<|\$/.test(set ?? '')) continue
      expect(other ?? name, fix).to.equal(name)
      expect(refusalOf(set === undefined ? {} : { [name]: set }), fix).to.equal(undefined)
    }
    expect(fixOf(new TypeError('PORT is no setting of this error'))).to.equal(undefined)
  })

  it('is refused for what it is, not for others: the defaults are taken', () => {
    expect(refusalOf({})).to.equal(undefined)
  })

  it('INSTANCE is the machine and the port by default, so that two instances of one machine differ', () => {
    expect(readConfig({}).instance).to.match(/^[A-Za-z0-9.-]+:3000$/)
    expect(readConfig({ PORT: '0' }).instance).to.match(new RegExp(`:${process.pid}$`))
    expect(readConfig({ INSTANCE: 'north-1', PORT: '80' }).instance).to.equal('north-1')
  })

  it('KEYS_SECRET is 32 random bytes or more, in any form of base64, and no text that shows the configuration has it', () => {
    for (const form of ['base64', 'base64url', 'hex'] as const) {
      const value = randomBytes(32).toString(form)
      const config = readConfig({ KEYS_SECRET: value, KEYS_SECRET_OLD: randomBytes(64).toString(form) })
      expect(config.tokens.keys).to.have.nested.property('secrets.old[0]').that.is.an('object')
      for (const text of [inspect(config, { depth: 9, showHidden: true }), JSON.stringify(config)]) {
        expect(text).to.not.contain(value)
        expect(text).to.not.match(/Buffer|Uint8Array/)
      }
    }
  })

  it('KEYS_SECRET is refused beside a key that only verifies, because such a server signs nothing', () => {
    const env = { KEYS_SECRET: randomBytes(32).toString('base64'), JWT_JWKS_URL: 'https://example.com/keys' }
    expect(refusalOf(env)?.message).to.match(/^KEYS_SECRET and JWT_JWKS_URL are both set/)
    expect(refusalOf({ KEYS_SECRET: env.KEYS_SECRET })).to.equal(undefined)
  })

  it('is in docs/configuration.md or docs/telemetry.md, which name no other', () => {
    const read = (page: string) => readFileSync(new URL(`../docs/${page}`, import.meta.url), 'utf8')
    const page = ['configuration.md', 'telemetry.md'].map(read).join('\n')
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
