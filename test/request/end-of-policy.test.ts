/** A policy.csv that is known to have the last line `# end of policy` never rules by a part of itself. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { END } from '../../src/policy/parse/rule-lines.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'
import { readinessOf } from './readiness.ts'
import { until } from './until.ts'

const GRANT = 'p, member, users, read, any, public, allow\n'
const DENY = 'p, member, users, read, any, *, deny\n'

describe('a policy.csv that is written in two parts', () => {
  let server: TestServer
  let token: string
  let file: string
  let text: string

  /** `last`: the last line of policy.csv, if any. */
  async function start(last: string): Promise<void> {
    const shipped = await readFile(new URL('../../policies/policy.csv', import.meta.url), 'utf8')
    text = shipped.replace(`${END}\n`, last)
    server = await startTestServer({ demo: true, files: { 'policies/policy.csv': text } })
    token = await server.token('alice', 'member')
    file = join(server.folder, 'policies/policy.csv')
  }
  afterEach(() => server.stop())

  const bobsProfile = (): Promise<Answer> => server.ask('GET', '/api/users/bob', { token })
  const degraded = () =>
    until(
      () => readinessOf(server),
      ({ body }) => body.status === 'degraded',
    )

  it('rules once its last line is there, and the policy before stays in force until then', async () => {
    await start(`${END}\n`)
    const { revision } = server.app.policy.active
    const first = text.replace(`${END}\n`, GRANT)
    await writeFile(file, first)
    const { body } = await degraded()
    expect(body.checks.policy.detail).to.contain(`policy.csv:${first.trimEnd().split('\n').length}:`)
    const answer = await bobsProfile()
    expect([answer.status, answer.headers.get('policy-revision')]).to.deep.equal([403, revision])
    const [refused] = server.log.filter(({ msg }) => msg === 'policy refused; the previous policy stays in force')
    expect((refused as { faults: object[] }).faults).to.have.length(1)
    expect((refused as { faults: object[] }).faults[0]).to.include({
      code: 'policy-incomplete',
      message: 'the file is incomplete: its last line `# end of policy` is missing',
      hint: 'save the whole file, or write that line at its end',
    })
    await writeFile(file, `${first}${DENY}${END}\n`)
    await until(
      () => readinessOf(server),
      ({ body }) => body.status === 'ok',
    )
    expect(server.app.policy.active.revision).not.to.equal(revision)
    expect((await bobsProfile()).status).to.equal(403)
  })

  it('rules by its first part where it never had that line: this is what the line prevents', async () => {
    await start('')
    await writeFile(file, text + GRANT)
    expect((await until(bobsProfile, ({ status }) => status === 200)).status).to.equal(200)
  })

  it('that got its last line while the server ran is held to it too', async () => {
    await start('')
    const { revision } = server.app.policy.active
    await writeFile(file, `${text}${END}\n`)
    await until(bobsProfile, ({ headers }) => headers.get('policy-revision') !== revision)
    await writeFile(file, text + GRANT)
    await degraded()
    expect((await bobsProfile()).status).to.equal(403)
  })

  it('refuses everybody when it is empty, whatever it had', async () => {
    await start(`${END}\n`)
    await writeFile(file, '\n')
    await until(
      () => server.ask('GET', '/api/v1/notes', { token }),
      ({ status }) => status === 403,
    )
    expect((await server.ask('GET', '/livez')).status).to.equal(401)
    await writeFile(file, text.replace(`${END}\n`, GRANT))
    await server.app.policy.reload()
    expect(server.app.policy.faults).to.have.length(1)
  })
})
