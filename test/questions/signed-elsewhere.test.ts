/** Proposals and approvals signed with a key that neither the server nor the command has. */
import { expect } from 'chai'
import { ApprovedPolicies, type Name, type Person } from '../approvals/people.ts'
import { sallyport } from '../command.ts'
import { withRules } from '../policy-text.ts'
import type { Answer, TestServer } from '../server.ts'
import { until } from '../until.ts'

const WIDER = 'p, member, orders, read, any, *, allow'
/** For those who use the API here. */
const RULES = 'p, auditor, system/policy, draft|propose|approve|block, any, *, allow\n'

describe('a change of the policy over HTTP', () => {
  let approved: ApprovedPolicies
  let server: TestServer
  let token: string
  beforeEach(async () => {
    approved = await ApprovedPolicies.make(undefined, undefined, RULES)
    server = await approved.published.start({})
    token = await server.token('audrey', 'auditor')
  })
  afterEach(() => approved.remove())

  const ask = (name: string, body?: unknown) =>
    server.ask(body === undefined ? 'GET' : 'POST', `/policy/v1/${name}`, { token, body })
  const files = async () => {
    const text = (await ask('files')).body.files['policy.csv']
    return { 'policy.csv': withRules(text, WIDER) }
  }
  const person = (name: Name) => approved.people[name]
  const askSigned = async (name: string, body: object, who: Person): Promise<Answer> => {
    const first = await ask(name, { ...body, key: `to-sign:${who.kid}` })
    if (first.status !== 200) return first
    return ask(name, { ...body, key: await signedText(first.body.result.toSign, who) })
  }
  const propose = async (who = person('ada')) =>
    askSigned('propose', { files: await files(), title: 'members read orders' }, who)
  const proposals = async () => (await ask('proposals')).body.result.proposals

  it('is proposed, approved and put in force, each signed in the client', async () => {
    const { status, body } = await propose()
    expect([status, body.result.proposal]).to.deep.equal([200, 1])
    expect(body.command).to.match(/^sallyport policy propose '--title=members read orders' --key=signed:\S+ draft$/)
    const review = (await ask('review', { number: 1 })).body.result
    expect([review.by, review.state, JSON.stringify(review).includes('widen')]).to.deep.equal(['ada', 'open', true])
    expect((await ask('publish', { number: 1 })).status).to.equal(422)
    for (const name of ['zoe', 'tim'] as const) {
      expect((await askSigned('approve', { number: 1 }, person(name))).status).to.equal(200)
    }
    expect((await ask('publish', { number: 1 })).body.result.version).to.equal(2)
    await until(async () => (await ask('files')).body.files['policy.csv'].includes(WIDER))
    expect((await ask('versions')).body.result.versions[0].number).to.equal(2)
    const first = (await ask('version', { version: 'database:1' })).body.result.files['policy.csv']
    const second = (await ask('version', { version: 'database:' })).body.result.files['policy.csv']
    expect([first.includes(WIDER), second.includes(WIDER)]).to.deep.equal([false, true])
    const proposed = (await ask('version', { proposal: 1 })).body
    expect(proposed.command).to.equal('sallyport policy export --proposal=1 version')
    expect(proposed.result.files['policy.csv']).to.equal(second)
    const compared = (await ask('compare', { from: 'database:1', to: 'database:2' })).body
    expect(compared.command).to.equal('sallyport policy diff database:1 database:2')
    expect(JSON.stringify(compared.result)).to.contain('widening')
    for (const from of ['policies', '/etc', 'main', 'database:x']) {
      expect((await ask('compare', { from, to: 'database:' })).status, from).to.equal(400)
    }
    expect((await ask('instances')).body.result.instances).to.have.length(1)
  })

  it('leaves the records of its commands under the name of the server that ran them', async () => {
    await propose()
    const commands = async () => (await server.decisions()).filter(({ method }) => method === 'COMMAND')
    await until(async () => (await commands()).some(({ status }) => status === 200))
    const [own] = (await server.decisions()).filter(({ method }) => method === 'POST')
    for (const { action, instance } of await commands()) {
      expect([action, instance]).to.deep.equal(['policy propose', own?.instance])
    }
  })

  it('stores nothing before the signature, and nothing with a wrong one', async () => {
    const body = { user: 'user:mallory' }
    const { toSign } = (await ask('block', { ...body, key: `to-sign:${person('ada').kid}` })).body.result
    expect(await proposals()).to.deep.equal([])
    const wrong = await ask('block', { ...body, key: await signedText(toSign, person('zoe')) })
    expect([wrong.status, wrong.body.code]).to.deep.equal([422, 'question-refused'])
    expect(wrong.body.detail).to.contain('not by this key')
    expect(await proposals()).to.deep.equal([])
    expect((await ask('block', { ...body, key: await signedText(toSign, person('ada')) })).status).to.equal(200)
    const approval = (await ask('approve', { number: 1, key: `to-sign:${person('zoe').kid}` })).body.result.toSign
    const forged = await ask('approve', { number: 1, key: await signedText(approval, person('ada')) })
    expect(forged.body.detail).to.contain('not by this key')
    const [{ said }] = await proposals()
    expect(said).to.deep.equal([])
  })

  it('is refused where another text was signed than what is asked now', async () => {
    const { toSign } = (await ask('block', { user: 'user:mallory', key: `to-sign:${person('ada').kid}` })).body.result
    const key = await signedText(toSign, person('ada'))
    for (const body of [
      { user: 'user:eve', key },
      { user: 'user:mallory', reason: 'x', key },
    ]) {
      const { status, body: refused } = await ask('block', body)
      expect([status, refused.detail]).to.deep.equal([
        422,
        'The command says: the signature is for another text, because the policy or what was asked has changed: sign it again.',
      ])
    }
    // Somebody else was first, so the number is another one.
    await askSigned('block', { user: 'user:eve' }, person('tim'))
    expect((await ask('block', { user: 'user:mallory', key })).status).to.equal(422)
    expect(await proposals()).to.have.length(1)
  })

  it('is refused for a text that was to be signed long ago', async () => {
    const body = { user: 'user:mallory' }
    const { toSign } = (await ask('block', { ...body, key: `to-sign:${person('ada').kid}` })).body.result
    const [header, payload] = toSign.split('.')
    const said = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const old = { ...said, time: new Date(Date.parse(said.time) - 3_600_000).toISOString() }
    const text = `${header}.${Buffer.from(JSON.stringify(old)).toString('base64url')}`
    const refused = (await ask('block', { ...body, key: await signedText(text, person('ada')) })).body
    expect(refused.detail).to.contain('half an hour').and.to.contain('sign it again')
  })

  it('takes no key that is a file or an agent of the server, nor that of a stranger', async () => {
    for (const key of [approved.keyOf('ada'), 'ssh-agent:ada', 'to-sign:x', 'signed:x']) {
      const { status, body } = await ask('approve', { number: 1, key })
      expect([key, status, body.code]).to.deep.equal([key, 400, 'invalid-body'])
    }
    const { status, body } = await ask('propose', {
      files: await files(),
      title: 'x',
      key: `to-sign:${'a'.repeat(43)}`,
    })
    expect([status, body.detail.includes('nobody in the approvals.yaml')]).to.deep.equal([422, true])
  })

  it('blocks a user as soon as enough people have signed', async () => {
    const asks = async () =>
      (await server.ask('GET', '/api/orders', { token: await server.token('mallory', 'member') })).status
    expect(await asks()).to.equal(200)
    const { status, body } = await askSigned('block', { user: 'user:mallory', reason: 'stolen' }, person('ada'))
    expect([status, body.result.proposal, body.result.changed]).to.deep.equal([200, 1, false])
    expect((await askSigned('approve', { number: 1 }, person('zoe'))).status).to.equal(200)
    expect((await ask('publish', { number: 1 })).body.result.version).to.equal(2)
    await until(async () => (await asks()) === 403)
  })
})

describe('a command whose key is elsewhere', () => {
  it('says what such a key looks like, in one sentence', async () => {
    const approved = await ApprovedPolicies.make()
    try {
      for (const [key, sentence] of [
        ['to-sign:x', 'needs the thumbprint of the public key'],
        ['signed:x', 'needs the text that was to be signed, a point, and the signature in base64url'],
      ] as const) {
        const { code, stderr } = await approved.run('approve', '1', '--key', key)
        expect([code, stderr.includes(sentence), stderr.trim().split('\n').length], stderr).to.deep.equal([2, true, 1])
      }
    } finally {
      await approved.remove()
    }
  })
})

describe('a role for a time, signed with a key that is elsewhere', () => {
  it('is given and approved by the text that the command has printed', async () => {
    const needs = `needs:
  widens: { people: 1 }
break-glass: { from: [security], roles: [admin], for: 2h, review: 24h }
requests: { roles: { support: { for: 8h, people: 1, from: [security] } } }
`
    const approved = await ApprovedPolicies.make(undefined, needs)
    try {
      const { ada, zoe } = approved.people
      const run = async (who: Person, args: readonly string[]) => {
        const once = async (key: string) => {
          const { code, stdout, stderr } = await sallyport([...args, '--key', key], { env: approved.environment() })
          expect(code, stderr).to.equal(0)
          return stdout
        }
        const { toSign } = JSON.parse(await once(`to-sign:${who.kid}`))
        return once(await signedText(toSign, who))
      }
      const why = ['--to', 'user:alice', '--for', '1h', '--reason', 'payments are down']
      expect(await run(ada, ['policy', 'break-glass', '--role', 'admin', ...why])).to.contain('1  in force')
      expect(await run(zoe, ['policy', 'review-glass', '1', '--finding', 'one order'])).to.contain('reviewed by zoe')
      expect(await run(ada, ['access', 'request', 'support', ...why])).to.contain('3  waiting')
      expect(await run(zoe, ['access', 'approve', '3'])).to.contain('3  in force')
    } finally {
      await approved.remove()
    }
  })
})

/** As a browser makes it. */
async function signedText(toSign: string, person: Person): Promise<string> {
  return `signed:${toSign}.${Buffer.from(await person.sign(Buffer.from(toSign))).toString('base64url')}`
}
