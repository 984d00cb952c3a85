/** A rule is gone at the moment of its `until=`, with no reload: for reads, lists, writes, single fields, and denies. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { decideAgain } from '../../src/analysis/replay/decide-again.ts'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import { openCandidate } from '../../src/tools/replay/replay.ts'
import { withRules } from '../policy-text.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'

const END = Date.parse('2031-05-01T12:00:00Z')

const policy = await readFile(new URL('../../policies/policy.csv', import.meta.url), 'utf8')

/** bob sees and changes all notes and his own department, alice is denied her notes, sam is blocked: all until `END`. */
function filesWith(end: string) {
  const rules = [
    `p, user:bob, notes, list|read|update, any, *, allow${end}`,
    `p, user:bob, users, update, owner, *, allow${end}`,
    `p, user:alice, notes, *, any, *, deny${end}`,
  ]
  return {
    'policies/policy.csv': withRules(policy, rules.join('\n')),
    'policies/blocked.txt': 'user:sam until=2031-05-01T14:00:00+02:00\n',
  }
}

describe('a rule with an end', () => {
  let server: TestServer
  let time: number
  let tokens: Readonly<Record<'alice' | 'bob' | 'sam', string>>
  let alices: string

  const start = async (end: string) => {
    server = await startTestServer({ demo: true, files: filesWith(end), now: () => new Date(time) })
    const token = (name: string) => server.token(name, 'member')
    tokens = { alice: await token('alice'), bob: await token('bob'), sam: await token('sam') }
    const { body } = await server.ask('GET', '/api/v1/notes', { token: await server.token('audrey', 'auditor') })
    alices = body.items.find(({ ownerId }: { ownerId: string }) => ownerId === 'alice').id
  }
  beforeEach(() => {
    time = END - 60_000
  })
  afterEach(() => server.stop())

  it('rules until the last millisecond, and is gone at the moment', async () => {
    await start(', until=2031-05-01T12:00:00Z')
    for (const moment of [END - 60_000, END - 1]) {
      time = moment
      expect(await everything()).to.deep.equal(BEFORE)
    }
    const { revision } = server.app.policy.active
    for (const moment of [END, END + 1, END + 1e11]) {
      time = moment
      expect(await everything()).to.deep.equal(AFTER)
    }
    expect(server.app.policy.active.revision).to.equal(revision)
    // The line behind them, `# end of policy`, and nothing.
    const lines = policy.split('\n').length - 2
    const told = server.log.filter(({ msg }) => msg === 'rules of policy.csv have ended')
    expect(told.map((record) => record.lines)).to.deep.equal([[lines + 1, lines + 2, lines + 3]])
  })

  it('rules again when the clock is set back before its end', async () => {
    await start(', until=2031-05-01T12:00:00Z')
    time = END
    expect(await everything()).to.deep.equal(AFTER)
    time = END - 1
    expect(await everything()).to.deep.equal(BEFORE)
  })

  it('is what it takes: the same rules without an end stay', async () => {
    await start('')
    time = END + 1e11
    expect(await everything()).to.deep.equal({ ...BEFORE, blocked: AFTER.blocked })
  })

  it('ends in the records at the same moment, and so it does when they are decided again', async () => {
    await start(', until=2031-05-01T12:00:00Z')
    time = END - 1
    await read('bob')
    time = END
    await read('bob')
    const mine = (await server.decisions()).filter(({ subject }) => subject === 'bob')
    expect(mine.map((record) => [record.time, record.outcome])).to.deep.equal([
      ['2031-05-01T11:59:59.999Z', 'allowed'],
      ['2031-05-01T12:00:00.000Z', 'refused'],
    ])
    const bench = await openCandidate(join(server.folder, 'policies'), server.app.resources)
    const again = mine.toReversed().map((record) => decideAgain(bench, record as unknown as DecisionRecord))
    expect((await Promise.all(again)).map(({ kind }) => kind)).to.deep.equal(['refused', 'allowed'])
  })

  const BEFORE = {
    reads: 200,
    lists: 8,
    writes: 200,
    fields: [200, 200],
    denied: 403,
    blocked: 'blocked',
  }
  const AFTER = {
    reads: 403,
    lists: 2,
    writes: 403,
    fields: [403, 200],
    denied: 200,
    blocked: undefined,
  }

  /** What is answered to bob, but `denied` to alice and `blocked` to sam. */
  async function everything() {
    return {
      reads: (await read('bob')).status,
      lists: (await server.ask('GET', '/api/v1/notes', { token: tokens.bob })).body.items.length,
      writes: (await patch(`/api/v1/notes/${alices}`, { title: `At ${time}` })).status,
      fields: [await patch('/profile', { department: `d${time}` }), await patch('/profile', { bio: `${time}` })].map(
        ({ status }) => status,
      ),
      denied: (await read('alice')).status,
      blocked: (await server.ask('GET', '/profile', { token: tokens.sam })).body.code,
    }
  }

  function read(who: 'alice' | 'bob'): Promise<Answer> {
    return server.ask('GET', `/api/v1/notes/${alices}`, { token: tokens[who] })
  }

  function patch(path: string, body: unknown): Promise<Answer> {
    return server.ask('PATCH', path, { token: tokens.bob, body })
  }
})
