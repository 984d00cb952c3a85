/** A batch whose items are dear to decide doesn't stop the server: other requests are answered in between. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { SharedReads } from '../../src/store/sqlite/shared-reads.ts'
import { withRules } from '../policy-text.ts'
import { sleep } from '../request/raw.ts'
import { startTestServer, type TestServer } from '../server.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

/** Nothing is told of any of them, so each is tried both ways: 1024 decisions for an item. */
const FIELDS = ['a', 'b', 'c', 'd', 'e', 'f']
const CONDITIONS = ['w', 'x', 'y', 'z']

const DENIES = FIELDS.flatMap((field) =>
  CONDITIONS.map((name) => `p, member, parts, call, r${field}+!${name}, *, deny`),
)

const FILES = {
  'schemas/parts.json': JSON.stringify({
    title: 'Part',
    type: 'object',
    'x-resource': { external: true, actions: ['call'] },
    properties: {
      id: { type: 'string', readOnly: true },
      ...Object.fromEntries(FIELDS.map((name) => [name, { type: 'string', maxLength: 9 }])),
    },
    additionalProperties: false,
  }),
  'policies/conditions.yaml': CONDITIONS.map((name) => `${name}: { asserted: true }\n`).join(''),
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
parts:
  relations:
${FIELDS.map((name) => `    r${name}: { field: ${name}, in: [yes] }`).join('\n')}
`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    ['p, member, parts, call, any, *, allow', ...DENIES].join('\n'),
  ),
  'policies/callers.yaml': 'pdp-client: { resources: { parts: asserted } }\n',
}

describe('a batch of dear questions', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ demo: true, files: FILES })
  })
  const { run } = SharedReads.prototype
  afterEach(() => {
    SharedReads.prototype.run = run
  })
  after(() => server.stop())

  const BATCH = {
    subject: { type: 'user', id: 'alice' },
    action: { name: 'call' },
    resource: { type: 'parts', id: 'p1' },
    evaluations: Array.from({ length: 1000 }, () => ({})),
  }
  const askAll = async () =>
    server.ask('POST', '/access/v1/evaluations', { token: await server.token('service', 'pdp-client'), body: BATCH })

  it('is decided in small groups from its first items on', async () => {
    const sizes: number[] = []
    SharedReads.prototype.run = function (work) {
      const found = run.call(this, work)
      if (Array.isArray(found)) sizes.push(found.length)
      return found as ReturnType<typeof work>
    }
    await askAll()
    expect(sizes[0]).to.be.below(10)
    // Forty if each had the greatest size.
    expect(sizes.length).to.be.above(80)
  })

  it('lets other requests be answered while it is decided', async () => {
    let isDecided = false
    const batch = askAll().then((answer) => {
      isDecided = true
      return answer
    })
    let others = 0
    while (!isDecided) {
      expect((await server.ask('GET', '/livez')).status).to.equal(200)
      if (!isDecided) others++
    }
    const { status, body: answers } = await batch
    expect(status).to.equal(200)
    expect(answers.evaluations).to.have.length(1000)
    expect(answers.evaluations[0].decision).to.equal(false)
    // Without turns in between, at most those that came before the body was read.
    expect(others).to.be.above(10)
  })

  const recordOf = async (subject: string) => {
    for (;;) {
      const record = await server.lastDecision({ subject })
      if (record) return record
      await sleep(10)
    }
  }

  it('ends soon after its client is gone', async () => {
    let slices = 0
    const client = new AbortController()
    SharedReads.prototype.run = function (work) {
      slices += 1
      if (slices === 3) client.abort()
      return run.call(this, work) as ReturnType<typeof work>
    }
    const answer = fetch(`${server.url}/access/v1/evaluations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await server.token('leaver', 'pdp-client')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(BATCH),
      signal: client.signal,
    })
    expect(await answer.catch((error: Error) => error.name)).to.equal('AbortError')
    const record = await recordOf('leaver')
    expect(record).to.deep.include({ outcome: 'refused', problem: 'malformed-request' })
    expect(record).not.to.have.property('asked')
    // Forty at least for the whole batch.
    expect(slices).to.be.below(35)
  })
})
