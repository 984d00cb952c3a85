/** Signing in over HTTP: with a password, with a refresh token, out again, and what of it others get to see. */
import { expect } from 'chai'
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose'
import { createPasswords, Overcrowded } from '../../src/identity/sign-in/password.ts'
import { createSignIn } from '../../src/identity/sign-in/sign-in.ts'
import { DEMO_PASSWORD } from '../../src/server/parts/demo.ts'
import type { HandledRequest, Services } from '../../src/server/routes/handler.ts'
import { signIn as signInRoute } from '../../src/server/routes/tokens.ts'
import type { Directory } from '../../src/store/directory.ts'
import { type Answer, CHEAP_PASSWORDS, startTestServer, type TestServer } from '../server.ts'

const CHEAP_HASH = await CHEAP_PASSWORDS.hash(DEMO_PASSWORD)

describe('signing in', () => {
  let server: TestServer
  let clock = 0
  before(async () => {
    server = await startTestServer({ demo: true, now: () => new Date(Date.now() + clock) })
  })
  beforeEach(() => {
    clock = 0
  })
  after(() => server.stop())

  const post = (body: unknown, token?: string) => server.ask('POST', '/api/tokens', { body, token })
  const signIn = (name: string, password = DEMO_PASSWORD) => post({ email: `${name}@example.com`, password })
  const refresh = ({ body }: Answer) => post({ refresh_token: body.refresh_token })
  const statusWith = async (token: string) => (await server.ask('GET', '/profile', { token })).status

  async function addUser(id: string, { oneTime = false } = {}): Promise<void> {
    const document = { email: `${id}@example.com`, displayName: id, roles: ['member'] }
    await server.app.seeding.insert('users', [{ id, document }])
    await server.app.directory.setPassword(id, { hash: CHEAP_HASH, oneTime })
  }

  for (const id of ['alice', 'audrey', 'ada']) {
    it(`lets the demo caller ${id} in, whose token the key set verifies`, async () => {
      const answer = await signIn(id)
      expect(answer.status).to.equal(200)
      expect(answer.headers.get('cache-control')).to.equal('no-store')
      expect(answer.body).to.have.all.keys('access_token', 'token_type', 'expires_in', 'refresh_token')
      expect(answer.body).to.include({ token_type: 'Bearer', expires_in: 600 })
      const { body: keys } = await server.ask('GET', '/.well-known/jwks.json')
      expect(JSON.stringify(keys)).to.not.include('"d"')
      const options = { issuer: 'sallyport', audience: 'sallyport', typ: 'at+jwt', algorithms: ['EdDSA'] }
      const { payload } = await jwtVerify(answer.body.access_token, createLocalJWKSet(keys), options)
      expect(payload).to.include({ sub: id, client_id: 'sallyport' })
      expect(payload).to.include.keys('jti', 'iat', 'exp', 'sid', 'roles')
      expect((payload.exp ?? 0) - (payload.iat ?? 0)).to.equal(600)
      const profile = await server.ask('GET', '/profile', { token: answer.body.access_token })
      expect(profile.body.id ?? profile.status).to.equal(id === 'audrey' ? 'audrey' : id)
    })
  }

  it('tells nobody whether it was the address or the password', async () => {
    await addUser('bare')
    await server.app.seeding.insert('users', [
      { id: 'mute', document: { email: 'mute@example.com', displayName: 'M' } },
    ])
    await addUser('gone')
    await server.app.directory.disable('gone')
    const answers = [
      await signIn('nobody'),
      await signIn('bare', 'a wrong password'),
      await signIn('mute'),
      await signIn('gone'),
      await post({ refresh_token: 'spr.x' }),
    ]
    const seen = answers.map(({ status, headers, body: { instance, ...problem } }) => {
      return JSON.stringify([status, headers.get('www-authenticate'), headers.get('retry-after'), problem])
    })
    expect(new Set(seen).size).to.equal(1)
    expect(answers[0]).to.deep.include({ status: 401 })
    expect(answers[0]?.body.code).to.equal('sign-in-refused')
  })

  it('has its record, which names the user and what was wrong, and nothing that was sent', async () => {
    const before = (await server.decisions()).length
    await signIn('bob')
    await signIn('bob', 'swordfish-swordfish')
    await signIn('hunter2-hunter2')
    const records = (await server.decisions()).slice(before)
    expect(records.map(({ objectId, reason, outcome, status }) => [objectId, reason, outcome, status])).to.deep.equal([
      ['bob', undefined, 'allowed', 200],
      ['bob', 'the password is wrong', 'refused', 401],
      [undefined, 'no user has this e-mail address', 'refused', 401],
    ])
    expect(records[0]).to.include({ resource: 'system/tokens', action: 'create', authentication: 'anonymous' })
    for (const word of ['swordfish', 'hunter2', DEMO_PASSWORD]) expect(JSON.stringify(records)).to.not.include(word)
  })

  it('ends with DELETE, and the next request is refused', async () => {
    const { body } = await signIn('sam')
    const token = body.access_token
    expect(await statusWith(token)).to.equal(200)
    expect((await server.ask('DELETE', '/api/tokens/current', { token })).status).to.equal(204)
    expect(await statusWith(token)).to.equal(401)
    expect((await post({ refresh_token: body.refresh_token })).status).to.equal(401)
    expect((await server.ask('DELETE', '/api/tokens/current', { token })).status).to.equal(401)
    const other = await server.ask('DELETE', '/api/tokens/current', { token: await server.token('sam', 'support') })
    expect([other.status, other.body.code]).to.deep.equal([404, 'session-not-found'])
  })

  it('is refreshed once with each token; an older one ends the session', async () => {
    await addUser('refresher')
    const first = await signIn('refresher')
    const second = await refresh(first)
    expect(second.status).to.equal(200)
    expect(second.headers.get('cache-control')).to.equal('no-store')
    const third = await refresh(second)
    expect(await statusWith(third.body.access_token)).to.equal(200)
    const reused = await refresh(first)
    expect([reused.status, reused.body.code]).to.deep.equal([401, 'sign-in-refused'])
    expect(await statusWith(third.body.access_token)).to.equal(401)
    expect((await refresh(third)).status).to.equal(401)
    const reason = 'the refresh token was used before; its session ended'
    const ended = (await server.decisions()).filter((record) => record.reason === reason)
    expect(ended.map(({ objectId, status }) => [objectId, status])).to.deep.equal([['refresher', 401]])
  })

  it('gives tokens the time of the password check, which refreshing keeps', async () => {
    await addUser('timed')
    const timeIn = ({ body }: Answer) => decodeJwt(body.access_token).auth_time
    const before = Math.floor(Date.now() / 1000)
    const first = await signIn('timed')
    expect(timeIn(first)).to.be.within(before, Math.floor(Date.now() / 1000))
    expect(decodeJwt(first.body.access_token)).to.not.have.property('acr')
    clock = 3_600_000
    const refreshed = await refresh(first)
    expect(timeIn(refreshed)).to.equal(timeIn(first))
    expect(timeIn(await refresh(refreshed))).to.equal(timeIn(first))
    expect(timeIn(await signIn('timed'))).to.be.within(before + 3600, Math.floor((Date.now() + clock) / 1000))
  })

  it('that is refreshed by two at once ends: one of them may be a thief', async () => {
    await addUser('racer')
    const first = await signIn('racer')
    const both = await Promise.all(Array.from({ length: 8 }, () => refresh(first)))
    expect(both.filter(({ status }) => status === 200)).to.have.length(1)
    const winner = both.find(({ status }) => status === 200)
    expect(await statusWith(winner?.body.access_token)).to.equal(401)
  })

  it('takes no refresh token that was changed, or is of another session', async () => {
    await addUser('mixer')
    const [one, other] = [(await signIn('mixer')).body.refresh_token, (await signIn('mixer')).body.refresh_token]
    const [, , family, current] = one.split('.')
    const [spr, session, otherFamily] = other.split('.')
    for (const forged of [
      [spr, session, family, current],
      [spr, session, otherFamily, current.toUpperCase()].slice(0, 3),
      [spr, session, otherFamily, current, ''],
      ['spr', '', '', ''],
    ]) {
      expect((await post({ refresh_token: forged.join('.') })).status).to.equal(401)
    }
    expect((await post({ refresh_token: other })).status).to.equal(200)
    expect((await post({ refresh_token: one })).status).to.equal(200)
  })

  it('ends after 14 days without a refresh, and after 30 days with any', async () => {
    await addUser('sleeper')
    const day = 24 * 60 * 60_000
    const idle = await signIn('sleeper')
    clock = 14 * day + 1000
    expect((await refresh(idle)).status).to.equal(401)
    clock = 0
    let latest = await signIn('sleeper')
    for (const days of [10, 20, 29.999]) {
      clock = days * day
      latest = await refresh(latest)
      expect(latest.status, `day ${days}`).to.equal(200)
    }
    expect(latest.body.expires_in).to.be.within(60, 120)
    clock = 30 * day + 1000
    expect((await refresh(latest)).status).to.equal(401)
  })

  it('with a new password changes it, and ends the sessions from before', async () => {
    await addUser('changer')
    const before = await signIn('changer')
    const email = 'changer@example.com'
    const short = await post({ email, password: DEMO_PASSWORD, newPassword: 'e\u0301'.repeat(11) })
    expect([short.status, short.body.errors]).to.deep.equal([
      400,
      [{ pointer: '/newPassword', detail: 'must have at least 12 characters', code: 'password' }],
    ])
    const same = await post({ email, password: DEMO_PASSWORD, newPassword: DEMO_PASSWORD })
    expect(same.body.errors).to.deep.equal([
      { pointer: '/newPassword', detail: 'must differ from the current password', code: 'password' },
    ])
    const changed = await post({ email, password: DEMO_PASSWORD, newPassword: 'another password' })
    expect(changed.status).to.equal(200)
    expect(await statusWith(before.body.access_token)).to.equal(401)
    expect(await statusWith(changed.body.access_token)).to.equal(200)
    expect((await signIn('changer')).status).to.equal(401)
    expect((await signIn('changer', 'another password')).status).to.equal(200)
  })

  it('with a password changed by two at once lets one of them have their way', async () => {
    await addUser('contested')
    const change = (newPassword: string) =>
      post({ email: 'contested@example.com', password: DEMO_PASSWORD, newPassword })
    const both = await Promise.all([change('the first password'), change('the second password')])
    expect(both.map(({ status }) => status).toSorted()).to.deep.equal([200, 401])
    const winner = both[0]?.status === 200 ? 'the first password' : 'the second password'
    expect((await signIn('contested', winner)).status).to.equal(200)
  })

  it('with a one-time password happens once, whoever comes at the same time', async () => {
    await addUser('once', { oneTime: true })
    const all = await Promise.all([signIn('once'), signIn('once'), signIn('once')])
    expect(all.map(({ status }) => status).toSorted()).to.deep.equal([200, 401, 401])
    expect((await signIn('once')).status).to.equal(401)
    await addUser('first', { oneTime: true })
    const email = 'first@example.com'
    expect((await post({ email, password: DEMO_PASSWORD, newPassword: 'a password to keep' })).status).to.equal(200)
    expect((await signIn('first', 'a password to keep')).status).to.equal(200)
    expect((await signIn('first', 'a password to keep')).status).to.equal(200)
  })

  it('lets a user in whose record has roles that no token can claim', async () => {
    const roles = ['user:ada', 'member', ...Array.from({ length: 40 }, (_, i) => `${'🔑'.repeat(60)}${i}`)]
    await server.app.seeding.insert('users', [
      { id: 'odd', document: { email: 'odd@example.com', displayName: 'Odd', roles } },
    ])
    await server.app.directory.setPassword('odd', { hash: CHEAP_HASH, oneTime: false })
    const { status, body } = await signIn('odd')
    expect(status).to.equal(200)
    expect((await server.ask('GET', '/api/v1/notes', { token: body.access_token })).status).to.equal(200)
  })

  it('is refused with all that is wrong at once, and only JSON is taken', async () => {
    const answer = await post({ email: 1, newPassword: 'short', password: '', x: 1 })
    expect(
      answer.body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code]),
    ).to.have.deep.members([
      ['/x', 'additionalProperties'],
      ['/email', 'type'],
      ['/password', 'minLength'],
      ['/newPassword', 'minLength'],
    ])
    const mixed = await post({ email: 'alice@example.com', password: DEMO_PASSWORD, refresh_token: 'x' })
    expect(mixed.status).to.equal(400)
    const raw = (body: string, type: string) =>
      server.ask('POST', '/api/tokens', { body, headers: { 'content-type': type } })
    expect((await raw('email=alice@example.com', 'application/x-www-form-urlencoded')).status).to.equal(415)
    expect((await raw('{"email":"a","email":"b","password":"c"}', 'application/json')).body.code).to.equal(
      'invalid-json',
    )
    expect((await raw(`{"email":"${'x'.repeat(200_000)}"}`, 'application/json')).status).to.equal(413)
    expect((await server.ask('POST', '/api/tokens?email=alice', { body: {} })).body.code).to.equal('invalid-query')
    expect((await server.ask('PUT', '/api/tokens', { body: {} })).headers.get('allow')).to.equal('POST, OPTIONS')
  })
})

describe('signing in with a password of an older cost', () => {
  it('keeps it at the cost of today from then on', async () => {
    const server = await startTestServer({ demo: true, passwords: createPasswords() })
    try {
      const { directory } = server.app
      await directory.setPassword('bob', { hash: CHEAP_HASH, oneTime: false })
      const kept = async () => (await directory.person('bob'))?.account?.passwordHash ?? ''
      expect(await kept()).to.match(/^\$scrypt\$ln=4,/)
      const signIn = () =>
        server.ask('POST', '/api/tokens', { body: { email: 'bob@example.com', password: DEMO_PASSWORD } })
      const session = await signIn()
      expect(await kept()).to.match(/^\$scrypt\$ln=15,r=8,p=3\$/)
      expect((await server.ask('GET', '/profile', { token: session.body.access_token })).status).to.equal(200)
      expect((await signIn()).status).to.equal(200)
    } finally {
      await server.stop()
    }
  })
})

describe('signing in while too many do', () => {
  it('is sent away, and is no failure', async () => {
    const settled: string[] = []
    const attempt = {
      known: false,
      succeeded: async () => void settled.push('succeeded'),
      withdrawn: async () => void settled.push('withdrawn'),
    }
    const directory = { personByEmail: async () => undefined } as unknown as Directory
    const verify = () => Promise.reject(new Overcrowded())
    const parts = { directory, passwords: { ...CHEAP_PASSWORDS, verify }, issue: async () => '', now: () => 0 }
    const signIn = createSignIn({ ...parts, guessing: { begin: async () => ({ kind: 'admitted', attempt }) } })
    const signedIn = await signIn.withPassword({ email: 'x', password: 'y', address: '' }, () => '')
    expect([signedIn, settled]).to.deep.equal([{ kind: 'busy' }, ['withdrawn']])
    const services = { signIn } as unknown as Services
    const writes = () => ({ record: () => '', committed: () => undefined })
    const asking = { resource: { validate: () => [] }, address: '', writes } as unknown as HandledRequest
    const problem = await signInRoute(services, asking, { email: 'x', password: 'y' }).catch((error) => error)
    expect(problem).to.include({ code: 'sign-in-busy', status: 503 })
    expect(problem.headers).to.deep.equal({ 'Retry-After': '2' })
  })
})

describe('signing in, as the policy says', () => {
  it('is refused where no rule grants it', async () => {
    const server = await startTestServer({ demo: true })
    try {
      const shipped = server.app.policy.active.revision
      const { readFile, writeFile } = await import('node:fs/promises')
      const file = `${server.folder}/policies/policy.csv`
      const text = await readFile(file, 'utf8')
      await writeFile(file, text.replace(/^p, everyone, system\/(tokens|keys).*$/gm, ''))
      while (server.app.policy.active.revision === shipped) await new Promise((resolve) => setTimeout(resolve, 20))
      const body = { email: 'alice@example.com', password: DEMO_PASSWORD }
      expect((await server.ask('POST', '/api/tokens', { body })).status).to.equal(401)
      const token = await server.token('alice', 'member')
      expect((await server.ask('POST', '/api/tokens', { body, token })).status).to.equal(403)
      expect((await server.ask('DELETE', '/api/tokens/current', { token })).status).to.equal(403)
      expect((await server.ask('GET', '/.well-known/jwks.json')).status).to.equal(401)
    } finally {
      await server.stop()
    }
  })

  it('happens elsewhere when the tokens come from elsewhere', async () => {
    const server = await startTestServer({ env: { JWT_JWKS_URL: 'http://127.0.0.1:9/' } })
    try {
      const answer = await server.ask('POST', '/api/tokens', { body: { email: 'a@example.com', password: 'x' } })
      expect([answer.status, answer.body.code]).to.deep.equal([404, 'sign-in-elsewhere'])
      expect((await server.ask('GET', '/.well-known/jwks.json')).body).to.deep.equal({ keys: [] })
    } finally {
      await server.stop()
    }
  })
})
