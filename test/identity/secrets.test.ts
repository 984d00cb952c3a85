/** The logs of every test server are searched for credentials, passwords and hashes; here the search itself is tested. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'chai'
import { Secrets } from '../secrets.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('the search for secrets in logs', () => {
  const searching = (...values: readonly string[]) => {
    const secrets = new Secrets()
    for (const value of values) secrets.add(value)
    return secrets
  }

  it('finds each part of a token, an API key, a refresh token, a password and a hash', () => {
    const token = ['header-of-a-token', 'payload-of-a-token', 'signature-of-a-token']
    for (const part of token) expect(searching(`Bearer ${token.join('.')}`).findIn(`{"x":"${part}"}`)).to.have.length(1)
    expect(searching('sp_Ab3_thisIsTheSecret').findIn('key sp_Ab3 and thisIsTheSecret')).to.deep.equal(['thisIs…'])
    expect(searching('sp_Ab3_thisIsTheSecret').findIn('"key":"sp_Ab3_thisIsTheSecret"').length).to.be.at.least(1)
    expect(searching('a password of words').findIn('typed: a password of words!')).to.deep.equal(['a pass…'])
    expect(
      searching('$scrypt$ln=15,r=8,p=3$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNo').findIn('{"h":"aGFzaGhhc2hoYXNo"}'),
    ).to.have.length(1)
    const secrets = searching()
    secrets.addMembers({
      access_token: 'aaaaaaaaaaaaaaaa.b',
      refresh_token: 'spr.x.cccccccccccccccc',
      newPassword: 'dddddddddddddddd',
    })
    expect(secrets.findIn('aaaaaaaaaaaaaaaa cccccccccccccccc dddddddddddddddd')).to.have.length(3)
  })

  it('finds nothing in a log that holds nothing', () => {
    expect(
      searching('Bearer aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb').findIn('{"subject":"alice","reason":"expired"}'),
    ).to.deep.equal([])
  })

  for (const leak of ['', 'yes']) {
    it(`${leak ? 'fails a run whose tests pass but whose server logged a token' : 'lets a run pass whose logs are clean'}`, async () => {
      const { code, printed } = await runMocha({ LEAK: leak })
      expect(printed).to.include('1 passing')
      expect(code).to.equal(leak ? 1 : 0)
      expect(printed.includes('a log holds what is secret')).to.equal(leak !== '')
    })
  }
})

function runMocha(env: Record<string, string>): Promise<{ readonly code: number; readonly printed: string }> {
  const mocha = join(ROOT, 'node_modules/mocha/bin/mocha.js')
  const options = { cwd: ROOT, env: { ...process.env, ...env } }
  return new Promise((resolve) => {
    execFile(process.execPath, [mocha, 'test/identity/leaking.ts'], options, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, printed: stdout + stderr })
    })
  })
}
