/** Questions of one turn go as one request, and each gets the answer that it would get alone. */
import { getEventListeners } from 'node:events'
import { expect } from 'chai'
import fc from 'fast-check'
import { AuthzenClient, type ClientOptions, type Question } from '../../packages/client/src/index.ts'
import { runs } from '../runs.ts'
import { type AuthzenServer, startAuthzenServer } from './authzen-server.ts'
import { codeOf } from './outcome.ts'

const question = (subject: string, action: string, resource: string): Question => ({
  subject: { type: 'user', id: subject },
  action: { name: action },
  resource: { type: 'record', id: resource },
})
const ALLOWED = question('alice', 'read', 'record-1')
const DENIED = question('bob', 'write', 'record-1')

describe('questions that are asked together', () => {
  let server: AuthzenServer
  const opened: AuthzenClient[] = []
  const connect = (options: Partial<ClientOptions> = {}) => {
    const one = new AuthzenClient({ url: server.url, timeoutMs: 20_000, ...options })
    opened.push(one)
    return one
  }
  const paths = () => server.received.map(({ path }) => path.replace('/access/v1/', ''))

  beforeEach(async () => {
    server = await startAuthzenServer()
  })
  afterEach(async () => {
    for (const one of opened.splice(0)) one.close()
    await server.stop()
  })

  it('are one request, also when they come from several places', async () => {
    const client = connect()
    const later = Promise.resolve().then(() => client.evaluate(DENIED))
    const asked = await Promise.all([client.evaluate(ALLOWED), client.evaluate(DENIED), later])
    expect(asked.map(({ decision }) => decision)).to.deep.equal([true, false, false])
    expect(paths()).to.deep.equal(['evaluations'])
    expect(server.received[0]?.body).to.deep.equal({ evaluations: [ALLOWED, DENIED, DENIED] })
    await client.evaluate(ALLOWED)
    expect(paths()).to.deep.equal(['evaluations', 'evaluation'])
  })

  it('each go alone where batches are off, or the question has a time or an id of its own', async () => {
    const alone = connect({ batch: false })
    await Promise.all([alone.evaluate(ALLOWED), alone.evaluate(DENIED)])
    const client = connect()
    await Promise.all([client.evaluate(ALLOWED, { requestId: 'a' }), client.evaluate(DENIED, { timeoutMs: 9000 })])
    expect(paths()).to.deep.equal(['evaluation', 'evaluation', 'evaluation', 'evaluation'])
  })

  it('are split by number and by size', async () => {
    const asked = (client: AuthzenClient, count: number) =>
      Promise.all(Array.from({ length: count }, () => client.evaluate(ALLOWED)))
    expect(await asked(connect({ batch: { most: 4 } }), 9)).to.have.length(9)
    const sizes = () => server.received.map(({ body }) => body.evaluations?.length ?? 1).toSorted()
    expect(sizes()).to.deep.equal([1, 4, 4])
    const bytes = 2 * (JSON.stringify(ALLOWED).length + 1)
    expect(await asked(connect({ batch: { mostBytes: bytes } }), 3)).to.have.length(3)
    expect(sizes()).to.deep.equal([1, 1, 2, 4, 4])
  })

  it('share no request when they tell different things of one subject or resource', async () => {
    const told = (role: string, status?: string): Question => ({
      ...ALLOWED,
      subject: { ...ALLOWED.subject, properties: { role } },
      resource: { ...ALLOWED.resource, properties: status === undefined ? undefined : { status } },
    })
    const client = connect()
    const asked = [told('user'), told('admin'), told('user'), told('admin'), told('user', 'active'), ALLOWED]
    await Promise.all(asked.map((one) => client.evaluate(one)))
    const sent = server.received.map(({ body }) => body.evaluations ?? [body])
    expect(sent.map((one: readonly unknown[]) => one.length).toSorted()).to.deep.equal([1, 1, 2, 2])
    const inOrder = await client.evaluations(asked)
    expect(inOrder).to.have.length(asked.length)
    const sizes = server.received.slice(sent.length).map(({ body }) => body.evaluations.length)
    expect(sizes).to.deep.equal([1, 1, 1, 1, 1, 1])
    for (const one of sent) {
      const different = new Set(one.map(({ subject, resource }: Question) => JSON.stringify([subject, resource])))
      expect(different.size).to.equal(1)
    }
  })

  it('get the answers that they get one by one, whatever the sizes', async () => {
    const one = fc
      .tuple(
        fc.constantFrom('alice', 'bob', 'nobody'),
        fc.constantFrom('read', 'write', 'delete', 'other'),
        fc.constantFrom('record-1', 'record-2', 'record-3'),
      )
      .map((parts) => question(...parts))
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 30 }), fc.integer({ min: 1, max: 7 }), async (questions, most) => {
        const alone = connect({ batch: false })
        const together = connect({ batch: { most } })
        const expected: unknown[] = []
        for (const each of questions) expected.push(await alone.evaluate(each))
        expect(await Promise.all(questions.map((each) => together.evaluate(each)))).to.deep.equal(expected)
        expect(await together.evaluations(questions)).to.deep.equal(expected)
      }),
      { numRuns: runs(30) },
    )
  })

  it('fail alone: one that the server refuses takes no other along', async () => {
    const client = connect()
    const incomplete = { ...ALLOWED, resource: { type: 'record' } } as Question
    const asked = [client.evaluate(ALLOWED), client.evaluate(incomplete)] as const
    expect(await codeOf(asked[1])).to.equal('item-failed')
    expect(await asked[0]).to.deep.equal({ decision: true })

    // A server that refuses the whole batch for one question.
    server.instead = ({ path, body }, response) => {
      if (path !== '/access/v1/evaluations' || !body.evaluations.some((one: Question) => !one.resource.id)) return false
      response.writeHead(400).end('no')
      return true
    }
    const again = [client.evaluate(ALLOWED), client.evaluate(incomplete), client.evaluate(DENIED)] as const
    expect(await codeOf(again[1])).to.equal('refused')
    expect(await Promise.all([again[0], again[2]])).to.deep.equal([{ decision: true }, { decision: false }])
  })

  it('all fail with a batch that failed otherwise, and are not asked again', async () => {
    for (const [status, code] of [
      [401, 'refused'],
      [403, 'refused'],
      [429, 'refused'],
      [500, 'failed'],
    ] as const) {
      server.instead = (_received, response) => {
        response.writeHead(status).end('no')
        return true
      }
      const before = server.received.length
      const client = connect()
      const asked = [client.evaluate(ALLOWED), client.evaluate(DENIED)]
      expect(await Promise.all(asked.map(codeOf))).to.deep.equal([code, code])
      expect(server.received.length - before).to.equal(1)
    }
  })

  it('go alone, and from then on, where the server has no endpoint for batches', async () => {
    server.instead = ({ path }, response) => {
      if (path !== '/access/v1/evaluations') return false
      response.writeHead(404).end()
      return true
    }
    const client = connect()
    for (let i = 0; i < 2; i++) {
      const asked = await Promise.all([client.evaluate(ALLOWED), client.evaluate(DENIED)])
      expect(asked).to.deep.equal([{ decision: true }, { decision: false }])
    }
    expect(paths().filter((path) => path === 'evaluations')).to.have.length(1)
    expect(await codeOf(client.evaluations([ALLOWED]))).to.equal('refused')
  })

  it('throw when the number of the answers is wrong', async () => {
    for (const count of [0, 1, 3]) {
      server.instead = (_received, response) => {
        const evaluations = Array.from({ length: count }, () => ({ decision: true }))
        response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ evaluations }))
        return true
      }
      const client = connect()
      const asked = [client.evaluate(DENIED), client.evaluate(DENIED)]
      expect(await Promise.all(asked.map(codeOf))).to.deep.equal(['invalid-answer', 'invalid-answer'])
      expect(await codeOf(client.evaluations([DENIED, DENIED]))).to.equal('invalid-answer')
    }
  })

  it('may be aborted one by one', async () => {
    const client = connect()
    const controller = new AbortController()
    const asked = [client.evaluate(ALLOWED, { signal: controller.signal }), client.evaluate(ALLOWED)] as const
    controller.abort()
    expect(await codeOf(asked[0])).to.equal('aborted')
    expect(await asked[1]).to.deep.equal({ decision: true })
  })

  it('leave nothing behind at a signal that outlives them', async () => {
    const { signal } = new AbortController()
    for (const client of [connect(), connect({ batch: false })]) {
      await Promise.all([client.evaluate(ALLOWED, { signal }), client.evaluate(DENIED, { signal })])
      expect(getEventListeners(signal, 'abort')).to.have.length(0)
    }
  })
})

describe('evaluations', () => {
  let server: AuthzenServer
  let client: AuthzenClient
  beforeEach(async () => {
    server = await startAuthzenServer()
    client = new AuthzenClient({ url: server.url, timeoutMs: 20_000, batch: { most: 2 } })
  })
  afterEach(async () => {
    client.close()
    await server.stop()
  })

  const decisions = async (...asked: Parameters<AuthzenClient['evaluations']>) =>
    (await client.evaluations(...asked)).map(({ decision }) => decision)

  it('fill in the defaults, and ask nothing for no questions', async () => {
    const { subject, action, resource } = ALLOWED
    const questions = [{ resource }, { resource, action: { name: 'write' } }, { resource: { ...resource, id: 'none' } }]
    expect(await decisions(questions, { defaults: { subject, action } })).to.deep.equal([true, true, false])
    expect(await decisions([])).to.deep.equal([])
    expect(server.received).to.have.length(2)
  })

  it('stop where the semantic says, over several requests too', async () => {
    const all = [ALLOWED, ALLOWED, ALLOWED, DENIED, ALLOWED, ALLOWED]
    expect(await decisions(all)).to.deep.equal([true, true, true, false, true, true])
    expect(await decisions(all, { semantic: 'deny_on_first_deny' })).to.deep.equal([true, true, true, false])
    expect(await decisions(all.toReversed(), { semantic: 'deny_on_first_deny' })).to.deep.equal([true, true, false])
    expect(await decisions([DENIED, DENIED, ALLOWED, DENIED], { semantic: 'permit_on_first_permit' })).to.deep.equal([
      false,
      false,
      true,
    ])
  })

  it('permit nothing by an item with an error, whatever its decision says', async () => {
    const errors = [{ status: 500 }, 'broken']
    const items = errors.map((error) => ({ decision: true, context: { error } }))
    server.instead = ({ path }, response) => {
      const body = path.endsWith('s') ? { evaluations: items } : items[0]
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
      return true
    }
    expect(await decisions([ALLOWED, ALLOWED])).to.deep.equal([false, false])
    expect(await decisions([ALLOWED, ALLOWED], { semantic: 'permit_on_first_permit' })).to.deep.equal([false, false])
    const asked = [client.evaluate(ALLOWED), client.evaluate(ALLOWED)]
    expect(await Promise.all(asked.map(codeOf))).to.deep.equal(['item-failed', 'item-failed'])
    expect(await codeOf(client.evaluate(ALLOWED))).to.equal('item-failed')
  })

  it('tell the error of an item in its context', async () => {
    const [first, second] = await client.evaluations([ALLOWED, { subject: ALLOWED.subject }])
    expect(first).to.deep.equal({ decision: true })
    expect(second).to.deep.equal({
      decision: false,
      context: { error: { status: 400, message: 'a member is missing' } },
    })
  })
})
