/** An explanation is about one time: it says until when rules and blocks are so, and what is answered then. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import shape from '../../../docs/schemas/policy-explain.schema.json' with { type: 'json' }
import { removeFolder } from '../../ends-with-tests.ts'
import { addRules } from '../../policy-text.ts'
import { run, SHIPPED } from './program.ts'

const RULES = [
  'p, user:carol, orders, read, any, *, allow, until=2031-01-01T00:00:00Z',
  'p, user:carol, notes, read, any, *, allow',
  'p, user:carol, notes, read, any, *, deny, until=2031-01-01T01:00:00+01:00',
  'p, user:dave, orders, read, any, *, allow, until=2031-01-01T00:00:00Z',
  'p, user:dave, orders, read, any, *, allow, until=2032-01-01T00:00:00Z',
]

describe('sallyport policy explain, where rules end', () => {
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-explain-'))
    await cp(SHIPPED.policies, folder, { recursive: true })
    await addRules(join(folder, 'policy.csv'), `${RULES.join('\n')}\n`)
    await writeFile(join(folder, 'blocked.txt'), 'user:eve until=2031-01-01T00:00:00Z\n')
  })
  after(() => removeFolder(folder))

  const ask = (...args: readonly string[]) => run({ ...SHIPPED, policies: folder }, args)
  const json = async (...args: readonly string[]) => JSON.parse((await ask(...args, '--format', 'json')).stdout)

  it('says at each time what is answered, until when, and what then', async () => {
    const order = ['--subject', 'carol', 'GET', '/api/orders/{id}', '--relation', 'none', '--at']
    const { outcome, rules, notes, at } = await json(...order, '2030-12-31T23:59:59.999Z')
    expect([at, outcome, rules[0].until]).to.deep.equal(['2030-12-31T23:59:59.999Z', 'allow', '2031-01-01T00:00:00Z'])
    expect(notes).to.deep.equal([
      `from 2031-01-01T00:00:00Z on, when ${rules[0].place} ends, it is 403: no rule allows it to this caller, whatever the object`,
    ])
    const later = await json(...order, '2031-01-01T00:00:00Z')
    expect([later.outcome, later.notes]).to.deep.equal(['deny', []])
  })

  it('says when a deny gives back what it took', async () => {
    const note = ['--subject', 'carol', 'GET', '/api/v1/notes/{id}', '--at', '2030-01-01T00:00:00Z']
    const { answer, notes } = await json(...note)
    expect(answer.status).to.equal(403)
    expect(notes[0]).to.match(/^from 2031-01-01T00:00:00Z on, when policy\.csv:\d+ ends, /)
    const { stdout } = await ask(...note)
    expect(stdout).to.match(/^Note +from 2031-01-01T00:00:00Z on/m)
  })

  it('passes over an end that changes nothing', async () => {
    const { notes } = await json('--subject', 'dave', 'GET', '/api/orders/{id}', '--at', '2030-01-01T00:00:00Z')
    expect(notes).to.have.length(1)
    expect(notes[0]).to.match(/^from 2032-01-01T00:00:00Z on/)
  })

  it('says until when a caller is blocked', async () => {
    const profile = ['--subject', 'eve', '--role', 'member', 'GET', '/profile', '--at']
    const { stage, reason, notes } = await json(...profile, '2030-01-01T00:00:00Z')
    expect(stage).to.equal('block')
    expect(reason).to.contain('(blocked.txt:1, until 2031-01-01T00:00:00Z)')
    expect(notes.at(-1)).to.match(/^from 2031-01-01T00:00:00Z on, when the block ends, it is 200: /)
    expect((await json(...profile, '2031-01-01T00:00:00Z')).stage).not.to.equal('block')
  })

  it('explains a record at its time, or at another one', async () => {
    const record = {
      record: 'decision',
      time: '2030-12-31T23:59:59.999Z',
      revision: '0123456789abcdef',
      method: 'GET',
      route: '/api/orders/{id}',
      objectId: 'x',
      authentication: 'caller',
      subject: 'carol',
      relations: [],
      rules: [],
      facts: { object: { customerId: 'zoe', status: 'placed' } },
      status: 200,
    }
    const file = join(folder, '.record.json')
    await writeFile(file, JSON.stringify(record))
    expect((await json('--record', file)).record.sameOutcome).to.equal(true)
    expect((await json('--record', file, '--at', '2031-01-01T00:00:00Z')).record.sameOutcome).to.equal(false)
    await writeFile(file, JSON.stringify({ ...record, time: undefined }))
    expect((await ask('--record', file)).stderr).to.contain('no usable `time`')
  })

  it('prints JSON of the documented shape', async () => {
    const validate = new Ajv2020().compile(shape)
    for (const path of ['/api/orders/{id}', '/api/v1/notes/{id}']) {
      expect(validate(await json('--subject', 'carol', 'GET', path)), JSON.stringify(validate.errors)).to.equal(true)
    }
  })

  it('says which times it takes', async () => {
    expect((await ask('GET', '/profile', '--at', 'soon')).stderr).to.contain(
      '--at: `soon` is not a time with an offset (RFC 3339): write a time with an offset, like 2026-12-04T18:00:00Z, a day',
    )
  })
})
