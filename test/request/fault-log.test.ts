/** What operators are told of faults doesn't grow with the requests that meet them. */
import { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Authentication } from '../../src/identity/caller.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { createFaultLog } from '../../src/server/observe/fault-log.ts'
import { createLog } from '../../src/server/observe/log.ts'
import { Loopback, text } from '../identity/loopback.ts'
import { AUDIENCE, claims, ed25519, ISSUER } from '../identity/signer.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'

const signer = ed25519('first')

type Line = Readonly<Record<string, unknown>>

describe('the log of faults', () => {
  it('has a line for the first request of a fault, and one at its end that tells how many', async () => {
    const { lines, faults } = open(50)
    for (let i = 1; i <= 1000; i++) faults.note({ requestId: `r${i}`, problem: 'p', err: new Error('down') }, 'failed')
    expect(lines).to.have.length(1)
    expect(lines[0]).to.deep.include({ level: 50, msg: 'failed', requestId: 'r1', problem: 'p' })
    expect(JSON.stringify(lines[0]?.err)).to.contain('down').and.contain('fault-log.test.ts')
    await until(() => lines.length > 1)
    expect(lines).to.have.length(2)
    const said = { level: 40, msg: 'a fault has ended', fault: 'failed', requestId: 'r1', problem: 'p', cause: 'down' }
    expect(lines[1]).to.deep.include({ ...said, times: 1000 })
    faults.note({ requestId: 'r1001', err: new Error('down') }, 'failed')
    expect(lines).to.have.length(3)
    faults.close()
  })

  it('has no second line for a fault that one request met', async () => {
    const { lines, faults } = open(5)
    faults.note({ err: new Error('down') }, 'failed')
    await sleep(50)
    faults.close()
    expect(lines).to.have.length(1)
  })

  it('tells faults apart by what they say, and by the causes below', () => {
    const { lines, faults } = open()
    const below = (cause: string) => new Error('down', { cause: new Error(cause) })
    for (const err of [below('full'), below('lost'), below('full'), new TypeError('down'), undefined, undefined]) {
      faults.note({ err }, 'failed')
    }
    faults.note({ err: undefined, problem: 'sign-in-busy' }, 'failed')
    expect(lines).to.have.length(5)
    faults.close()
    expect(lines.slice(5).map(({ times }) => times)).to.deep.equal([2, 2])
  })

  it('stays small when each fault says something else', () => {
    const { lines, faults } = open()
    for (let i = 0; i < 5000; i++) faults.note({ err: new Error(`fault ${i}`) }, 'failed')
    expect(lines).to.have.length(101)
    faults.close()
    expect(lines).to.have.length(102)
    expect(lines[101]).to.include({ msg: 'a fault has ended', times: 4900 })
  })
})

describe('the log of a server', () => {
  let server: TestServer

  const failures = () => server.log.filter(({ msg }) => msg === 'request failed')

  it('has one line while a key server is down, whatever keys the tokens name, and one when it stops', async () => {
    const keys = await Loopback.start(text('', 500))
    const source = { kind: 'jwks', url: keys.url } as const
    server = await startTestServer({
      verifier: createTokenVerifier({ keys: source, issuer: ISSUER, audience: AUDIENCE }),
    })
    for (let i = 0; i < 100; i++) {
      const token = signer.token(claims(), { kid: `made-up-${i}` })
      expect((await server.ask('GET', '/livez', { token })).status).to.equal(503)
    }
    expect(failures()).to.have.length(1)
    expect(keys.requests).to.equal(1)
    await server.stop()
    const ends = server.log.filter(({ msg }) => msg === 'a fault has ended')
    expect(ends.map(({ problem, times }) => [problem, times])).to.deep.equal([['key-server-unavailable', 100]])
    await keys.stop()
  })

  it('has one line while the store is down, and another for the fault that comes next', async () => {
    server = await startTestServer({ demo: true })
    const token = await server.token('ada', 'admin')
    await server.app.store.close()
    for (let i = 0; i < 20; i++) expect((await server.ask('GET', '/api/v1/notes', { token })).status).to.equal(503)
    expect(failures()).to.have.length(1)
    await server.stop()
  })

  it('has a line for every kind of fault that it meets', async () => {
    const verify = async (token: string): Promise<Authentication> => {
      throw new Error(`the vault ${token} is gone`)
    }
    server = await startTestServer({ verifier: { verify } })
    for (const token of ['a', 'b', 'a', 'b']) await server.ask('GET', '/livez', { token })
    expect(failures()).to.have.length(2)
    await server.stop()
  })
})

function open(quietMs?: number) {
  const lines: Line[] = []
  return { lines, faults: createFaultLog(createLog('info', collect(lines)), quietMs) }
}

function collect(lines: Line[]): Writable {
  return new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
}
