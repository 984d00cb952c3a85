/** A sign-in that is too old or too weak is answered as RFC 9470 says, over real HTTP. */
import { expect } from 'chai'
import { Refused, refusalBy, type StepUp } from '../../src/decide/refusal.ts'
import { startTestServer, type TestServer } from '../server.ts'

const CONDITIONS = 'fresh: { signedIn: { within: 15m } }\n'

describe('a request that needs a fresher or stronger sign-in', () => {
  let server: TestServer
  let token: string
  /** What the policy says about each request. */
  let asked: StepUp

  before(async () => {
    server = await startTestServer({ demo: true, files: { 'policies/conditions.yaml': CONDITIONS } })
    token = await server.token('alice', 'member')
    const subjectOf = () => {
      throw new Refused(refusalBy('role', { stepUp: asked }))
    }
    Object.defineProperty(server.app.policy.active.snapshot, 'subjectOf', { value: subjectOf })
  })
  after(() => server.stop())

  const ask = async (stepUp: StepUp) => {
    asked = stepUp
    return server.ask('GET', '/api/v1/notes', { token })
  }

  const cases: readonly [stepUp: StepUp, parameters: string, detail: string][] = [
    [{ conditions: ['fresh'], maxAge: 900 }, 'max_age="900"', 'at most 900 seconds old'],
    [
      { conditions: ['strong'], acr: ['urn:example:mfa', 'phr'] },
      'acr_values="urn:example:mfa phr"',
      'of the class urn:example:mfa or phr',
    ],
    [
      { conditions: ['fresh', 'strong'], acr: ['phr'], maxAge: 60 },
      'acr_values="phr", max_age="60"',
      'at most 60 seconds old and of the class phr',
    ],
    [{ conditions: ['odd'], acr: ['a"b\\c'] }, 'acr_values="a\\"b\\\\c"', 'of the class a"b\\c'],
  ]
  for (const [stepUp, parameters, words] of cases) {
    it(`is 401 with ${parameters}`, async () => {
      const { status, headers, body } = await ask(stepUp)
      expect([status, body.code]).to.deep.equal([401, 'step-up-required'])
      expect(headers.get('www-authenticate')).to.equal(
        `Bearer error="insufficient_user_authentication", error_description="A fresher or stronger sign-in is required", ${parameters}`,
      )
      expect(body.detail).to.equal(`Sign in again: the sign-in must be ${words}.`)
    })
  }

  it('is the plain 401 without credentials, which are missing first', async () => {
    asked = { conditions: ['fresh'], maxAge: 900 }
    const { status, headers, body } = await server.ask('GET', '/api/v1/notes')
    expect([status, body.code]).to.deep.equal([401, 'credentials-missing'])
    expect(headers.get('www-authenticate')).to.equal('Bearer realm="sallyport"')
  })

  it('has a record that names the problem', async () => {
    await ask({ conditions: ['fresh'], maxAge: 900 })
    expect(await server.lastDecision({ method: 'GET' })).to.include({
      outcome: 'refused',
      problem: 'step-up-required',
      subject: 'alice',
      status: 401,
    })
  })
})
