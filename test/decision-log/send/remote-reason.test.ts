/** Why another system took nothing, in words that an operator knows, from the errors that Node really gives. */
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { remoteReason } from '../../../src/server/observe/remote-reason.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { freePort } from '../../redis.ts'
import { makeCertificate, startHttpCollector } from './collectors.ts'

describe('the reason why another system takes nothing', () => {
  const failureOf = async (url: string, options: object) => {
    const asked = request(url, options)
    asked.end()
    const [error] = await once(asked, 'error')
    return remoteReason(error)
  }

  it('is a sentence for whoever can do something', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    makeCertificate(folder)
    const collector = await startHttpCollector(folder)
    collector.answer = () => 'never'
    const url = `https://127.0.0.1:${collector.port}`
    const signal = AbortSignal.any([new AbortController().signal, AbortSignal.timeout(200)])
    expect(await failureOf(url, { rejectUnauthorized: false, signal })).to.equal('no answer in time')
    expect(await failureOf(url, {})).to.match(/^self-signed certificate/)
    expect(await failureOf(`https://127.0.0.1:${await freePort()}`, {})).to.equal('connection refused')
    await collector.stop()
    await removeFolder(folder)
  })

  it('is the status where the other system answers, and never long', () => {
    expect(remoteReason(Object.assign(new Error('words of the other system'), { code: 503 }))).to.equal(
      'it answers 503',
    )
    expect(remoteReason(new AggregateError([Object.assign(new Error('x'), { code: 'ECONNRESET' })]))).to.equal(
      'connection reset by peer',
    )
    expect(remoteReason(new Error('x'.repeat(5000)))).to.have.length(200)
    expect(remoteReason(undefined)).to.equal('it does not answer')
  })
})
