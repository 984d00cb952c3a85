/** What signing in changes commits with its record: neither is there without the other, whatever the decision log can do. */
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { DEMO_PASSWORD } from '../../src/server/parts/demo.ts'
import { makeFirstAdmin } from '../../src/server/parts/first-admin.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'

const NEW_PASSWORD = 'a password of my own'

describe('the record of a change by signing in', () => {
  let server: TestServer
  afterEach(() => server.stop())

  const start = async (env: Record<string, string>, demo = true) => {
    server = await startTestServer({ demo, env })
  }
  const post = (body: unknown) => server.ask('POST', '/api/tokens', { body })
  const signIn = (more: object = {}) => post({ email: 'alice@example.com', password: DEMO_PASSWORD, ...more })
  const refresh = ({ body }: Answer) => post({ refresh_token: body.refresh_token })
  const signOut = ({ body }: Answer) => server.ask('DELETE', '/api/tokens/current', { token: body.access_token })
  const waiting = async () => (await server.app.outbox.waiting(100)).map(({ record }) => JSON.parse(record))
  const told = (records: readonly Record<string, unknown>[]) =>
    records.map(({ method, status, objectId, subject }) => [method, status, objectId ?? subject])

  for (const mode of ['required', 'best-effort']) {
    it(`waits in the store while the log, ${mode}, can not be written, and the change is answered`, async () => {
      await start({ DECISION_LOG: mode, DECISION_LOG_FILE: '/dev/full' })
      const first = await signIn()
      const second = await refresh(first)
      const third = await signIn({ newPassword: NEW_PASSWORD })
      const statuses = [first, second, third, await signOut(third)].map(({ status }) => status)
      expect(statuses).to.deep.equal([200, 200, 200, 204])
      expect((await signIn({ password: NEW_PASSWORD })).status).to.equal(200)
      expect(told(await waiting())).to.deep.equal([
        ['POST', 200, 'alice'],
        ['POST', 200, 'alice'],
        ['POST', 200, 'alice'],
        ['DELETE', 204, 'alice'],
        ['POST', 200, 'alice'],
      ])
    })

    it(`is there of a session that a refusal ends, with the log ${mode}`, async () => {
      await start({ DECISION_LOG: mode, DECISION_LOG_FILE: '/dev/full' })
      const first = await signIn()
      const second = await refresh(first)
      expect((await refresh(first)).status).to.equal(401)
      const [record] = (await waiting()).slice(-1)
      expect(record).to.include({ status: 401, objectId: 'alice', outcome: 'refused', problem: 'sign-in-refused' })
      expect(record.reason).to.equal('the refresh token was used before; its session ended')
      const after = await server.app.directory.sessionStatus('alice', sessionOf(second))
      expect(after.sessionEndsAt).to.equal(0)
    })

    it(`is there of the first admin's one-time password, with the log ${mode}`, async () => {
      await start({ DECISION_LOG: mode, DECISION_LOG_FILE: '/dev/full' }, false)
      const { email, password } = (await makeFirstAdmin(server.app)) ?? {}
      expect((await post({ email, password, newPassword: NEW_PASSWORD })).status).to.equal(200)
      expect(told(await waiting())).to.deep.equal([['POST', 200, 'admin']])
    })
  }

  it('is in the log, once, when that can be written', async () => {
    await start({ DECISION_LOG: 'required' })
    await signOut(await refresh(await signIn()))
    const records = await server.decisions()
    expect(told(records)).to.deep.equal([
      ['POST', 200, 'alice'],
      ['POST', 200, 'alice'],
      ['DELETE', 204, 'alice'],
    ])
    expect(records.map(({ write }) => write)).to.deep.equal([1, 2, 3])
  })

  it('refuses the change where it can not be kept: nothing is spent, and the same request succeeds later', async () => {
    await start({})
    const { password } = await oneTimePassword()
    const session = await signIn()
    const fix = breakOutbox(server)
    const broken = [
      await refresh(session),
      await signIn({ newPassword: NEW_PASSWORD }),
      await post({ email: 'sam@example.com', password }),
      await signOut(session),
    ]
    expect(broken.map(({ status, body }) => [status, body.code])).to.deep.equal(
      broken.map(() => [503, 'store-unavailable']),
    )
    fix()
    const fixed = [
      await refresh(session),
      await signIn(),
      await post({ email: 'sam@example.com', password }),
      await signOut(session),
    ]
    expect(fixed.map(({ status }) => status)).to.deep.equal([200, 200, 200, 204])
  })

  it('leaves a refresh token unused where its user is disabled', async () => {
    await start({})
    const session = await signIn()
    const database = new DatabaseSync(`${server.folder}/data/sallyport.db`)
    database.exec(`insert into accounts values ('alice', null, 0, 1, 0, 0) on conflict do update set disabled = 1`)
    expect((await refresh(session)).status).to.equal(401)
    database.exec(`update accounts set disabled = 0`)
    database.close()
    expect((await refresh(session)).status).to.equal(200)
  })

  async function oneTimePassword(): Promise<{ readonly password: string }> {
    const { directory } = server.app
    const hash = (await directory.person('sam'))?.account?.passwordHash ?? ''
    await directory.setPassword('sam', { hash, oneTime: true })
    return { password: DEMO_PASSWORD }
  }
})

function sessionOf({ body }: Answer): string {
  return JSON.parse(String(Buffer.from(body.access_token.split('.')[1], 'base64url'))).sid
}

/** No record can be kept until the function that is returned is called. */
function breakOutbox({ folder }: TestServer): () => void {
  const database = new DatabaseSync(`${folder}/data/sallyport.db`)
  database.exec(`create trigger broken before insert on outbox begin select raise(abort, 'broken'); end`)
  return () => {
    database.exec('drop trigger broken')
    database.close()
  }
}
