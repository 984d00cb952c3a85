/** Many changes of policy under load: every answer fits the revision that it names. */

import { EventEmitter, once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Adapter, newEnforcer, newModelFromString, StringAdapter } from 'casbin'
import { expect } from 'chai'
import { replaceLink } from '../../src/base/files/durable-file.ts'
import { readContent } from '../../src/tools/release/content.ts'
import { withRules } from '../policy-text.ts'
import { soak, times } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { revisionIn } from './fixture.ts'

const CONNECTIONS = soak(32, 4)
const SWAPS = soak(times(100), 40)
const PAUSE_MS = 50
/** Only a fault takes this long. */
const STALL_MS = 120_000

interface Answer {
  readonly revision: string
  readonly allowed: boolean
  /** What an answer that doesn't fit is told by. */
  readonly told: string
}

interface Loaded {
  ask(): Promise<Answer>
  /** Puts the policy in force that allows (true) or denies; its revision. */
  swap(allowing: boolean): Promise<void>
}

interface Watched {
  readonly answers: number
  /** Answers that don't fit the revision that they name, or took too long. */
  readonly wrong: readonly string[]
  readonly revisions: ReadonlySet<string>
}

/** `expected`: what each revision answers. */
async function swapUnderLoad(loaded: Loaded, expected: ReadonlyMap<string, boolean>, swaps: number): Promise<Watched> {
  let running = true
  let answers = 0
  const wrong: string[] = []
  const revisions = new Set<string>()
  const client = async () => {
    while (running) {
      const began = performance.now()
      const { revision, allowed, told } = await loaded.ask()
      answers += 1
      revisions.add(revision)
      if (expected.get(revision) !== allowed) wrong.push(`${revision}: ${told}`)
      if (performance.now() - began > STALL_MS) wrong.push(`${performance.now() - began} ms`)
      // The clients share this process with the server: without a pause it would do little else than ask.
      await sleep(PAUSE_MS)
    }
  }
  const clients = Array.from({ length: CONNECTIONS }, client)
  for (let i = 1; i <= swaps; i++) await loaded.swap(i % 2 === 0)
  running = false
  await Promise.all(clients)
  return { answers, wrong, revisions }
}

describe(`a server whose policy changes ${SWAPS} times under load`, () => {
  let server: TestServer
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(async () => {
    agent.destroy()
    await server.stop()
  })

  it('answers each request by exactly the revision that it names, without a fault or a stall', async () => {
    const live = join(server.folder, 'policies')
    const allowing = await readContent(live)
    const csv = withRules(await readFile(join(live, 'policy.csv'), 'utf8'), 'p, support, orders, read, any, *, deny')
    const denying = new Map([...allowing, ['policy.csv', new TextEncoder().encode(csv)] as const])
    const expected = new Map<string, boolean>()
    const links = new Map<boolean, string>()
    for (const [content, answer] of [
      [denying, false],
      [allowing, true],
    ] as const) {
      const folder = join(live, answer ? '..allowing' : '..denying')
      await mkdir(folder)
      for (const [name, bytes] of content) await writeFile(join(folder, name), bytes)
      await replaceLink(join(live, '..data'), basename(folder))
      for (const name of content.keys()) await replaceLink(join(live, name), `..data/${name}`)
      expected.set(await revisionIn(live), answer)
      links.set(answer, basename(folder))
    }
    const token = await server.token('sam', 'support')
    const { body } = await server.ask('GET', '/api/orders', { token })
    const statuses = new Set<number | undefined>()
    const loaded: Loaded = {
      ask: async () => {
        const { status, revision, text } = await get(`${server.url}/api/orders/${body.items[0].id}`, token, agent)
        statuses.add(status)
        return { revision, allowed: status === 200, told: `${status} ${text}` }
      },
      swap: async (allow) => {
        // As Kubernetes does.
        await replaceLink(join(live, '..data'), links.get(allow) ?? '')
        await server.app.policy.reload()
      },
    }
    const { answers, wrong, revisions } = await swapUnderLoad(loaded, expected, SWAPS)
    expect(wrong.slice(0, 3)).to.deep.equal([])
    expect([...statuses].toSorted()).to.deep.equal([200, 403])
    expect([...revisions].toSorted()).to.deep.equal([...expected.keys()].toSorted())
    expect(answers).to.be.greaterThan(soak(SWAPS, CONNECTIONS))
  })

  it('an enforcer that loads its policy while it decides would be found out', async () => {
    const model = await readFile(new URL('../../policies/model.conf', import.meta.url), 'utf8')
    const rules = (effect: string) => `p, sam, orders, read, any, *, allow\n${effect}\n`
    let text = rules('')
    const asked = new EventEmitter()
    const adapter: Adapter = {
      async loadPolicy(to) {
        // A disk or a database takes a while, and here as long as until somebody has asked meanwhile.
        await once(asked, 'answer')
        await new StringAdapter(text).loadPolicy(to)
      },
      savePolicy: async () => false,
      addPolicy: async () => undefined,
      removePolicy: async () => undefined,
      removeFilteredPolicy: async () => undefined,
    }
    const first = new StringAdapter(text)
    const enforcer = await newEnforcer(newModelFromString(model.replace(/m = .*/, 'm = r.sub == p.sub')), first)
    enforcer.setAdapter(adapter)
    let revision = 'allowing'
    const loaded: Loaded = {
      ask: async () => {
        const named = revision
        const allowed = await enforcer.enforce('sam', 'orders', 'read', '', '*')
        asked.emit('answer')
        return { revision: named, allowed, told: `${allowed}` }
      },
      swap: async (allow) => {
        text = rules(allow ? '' : 'p, sam, orders, read, any, *, deny')
        await enforcer.loadPolicy()
        revision = allow ? 'allowing' : 'denying'
      },
    }
    const expected = new Map([
      ['allowing', true],
      ['denying', false],
    ])
    expect((await swapUnderLoad(loaded, expected, 10)).wrong).not.to.deep.equal([])
  })
})

interface Got {
  readonly status: number | undefined
  readonly revision: string
  readonly text: string
}

function get(url: string, token: string, agent: Agent): Promise<Got> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      const { statusCode: status, headers } = response
      const revision = String(headers['policy-revision'])
      text(response).then((body) => resolve({ status, revision, text: body }), reject)
    })
    asking.once('error', reject)
    asking.end()
  })
}
