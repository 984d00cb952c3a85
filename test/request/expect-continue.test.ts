/** `Expect: 100-continue` is answered only after authorization (RFC 9110 section 10.1.1). */
import { expect } from 'chai'
import { startTestServer, type TestServer } from '../server.ts'
import { type Callers, tokensOf } from './callers.ts'
import { converse, request } from './raw.ts'

const NOTE = '{"title":"t"}'

describe('Expect: 100-continue', () => {
  let server: TestServer
  let callers: Callers

  before(async () => {
    server = await startTestServer({ demo: true })
    callers = await tokensOf(server)
  })
  after(() => server.stop())

  it('an allowed caller gets 100, sends the body, and gets 201', async () => {
    const { answers } = await converse(server.url, [head(callers.alice)], { answers: 1 })
    expect(answers.map(({ status }) => status)).to.deep.equal([100])
    const whole = await converse(server.url, [head(callers.alice), 100, NOTE])
    expect(whole.answers.map(({ status }) => status)).to.deep.equal([100, 201])
  })

  it('is heard in any case, and without it there is no 100', async () => {
    const loud = head(callers.alice).replace('100-continue', '100-Continue')
    expect(await statuses([loud, 50, NOTE])).to.deep.equal([100, 201])
    expect(await statuses([head(callers.alice).replace(/Expect: .*\r\n/, ''), NOTE])).to.deep.equal([201])
  })

  it('a body that comes unasked is taken all the same', async () => {
    expect(await statuses([head(callers.alice) + NOTE])).to.deep.equal([100, 201])
  })

  it('a refused caller gets the final status, never a 100, and the connection ends', async () => {
    const member = callers.alice
    for (const [what, bytes, status] of [
      ['no credentials', head(undefined), 401],
      ['a bad token', head('bad'), 401],
      ['a role without the action', head(callers.audrey), 403],
      ["another's object", head(member, 'PATCH /api/users/bob'), 403],
      ['no such object', head(member, 'PUT /api/v1/notes/none'), 404],
      ['no such path', head(member, 'POST /nowhere'), 404],
      ['a method that is not accepted', head(member, 'PUT /api/v1/notes'), 405],
      ['an unknown query parameter', head(member, 'POST /api/v1/notes?x=1'), 400],
      ['an unsupported media type', head(member).replace('application/json', 'text/plain'), 415],
      ['a coded body', head(member).replace('Expect', 'Content-Encoding: gzip\r\nExpect'), 415],
      ['a body that is too large', head(member).replace(/Length: 13/, 'Length: 1000000'), 413],
      ['no Host', head(member).replace(/Host: .*\r\n/, ''), 400],
    ] as const) {
      const { answers, closed } = await converse(server.url, [bytes])
      expect([answers.map((answer) => answer.status), closed], what).to.deep.equal([[status], true])
      expect(answers[0]?.headers.connection).to.equal('close')
    }
  })

  it('a caller over the rate limit gets 429 and never a 100', async () => {
    const limits =
      'body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n  a: { per: address, allow: 1, window: 60s }\n'
    const limited = await startTestServer({ files: { 'policies/limits.yaml': limits } })
    try {
      const token = await limited.token('alice', 'member')
      for (const status of [201, 429]) {
        const { answers } = await converse(limited.url, [head(token), 50, NOTE])
        expect(answers.at(-1)?.status).to.equal(status)
        expect(answers.some((answer) => answer.status === 100)).to.equal(status === 201)
      }
    } finally {
      await limited.stop()
    }
  })

  it('any other expectation is 417, in a problem document with a record', async () => {
    for (const expectation of ['200-ok', '100-continue, 200-ok', 'x100-continue', '100-continue;q=1', '100']) {
      const bytes = head(callers.alice).replace('100-continue', expectation)
      const { answers } = await converse(server.url, [bytes])
      const { code, instance } = JSON.parse(answers[0]?.text ?? '{}')
      expect([answers.map(({ status }) => status), code], expectation).to.deep.equal([[417], 'expectation-failed'])
      const found = (await server.decisions()).filter(({ requestId }) => `urn:uuid:${requestId}` === instance)
      expect(found).to.have.length(1)
    }
  })

  it('HTTP/1.0 knows no 100: the expectation is passed over', async () => {
    const bytes = head(callers.alice).replace('HTTP/1.1', 'HTTP/1.0')
    expect(await statuses([bytes + NOTE])).to.deep.equal([201])
  })

  function head(token: string | undefined, line = 'POST /api/v1/notes'): string {
    const credentials = token === undefined ? [] : [`Authorization: Bearer ${token}`]
    const body = ['Content-Type: application/json', `Content-Length: ${NOTE.length}`, 'Expect: 100-continue']
    return request(line, [...credentials, ...body, 'Connection: close'])
  }

  async function statuses(parts: readonly (string | number)[]): Promise<readonly number[]> {
    return (await converse(server.url, parts)).answers.map(({ status }) => status)
  }
})
