/** The questions of other services are decided again by the facts of their records, and other answers are found. */
import { expect } from 'chai'
import type { AskedRecord } from '../../src/decision-log/decision-record.ts'
import { about, askingBy, ofMember, startAsserted, TOOL } from '../authzen/asserted.ts'
import { questionsAgain } from '../authzen/decided-again.ts'
import type { TestServer } from '../server.ts'

const ACTIONS = ['read', 'list', 'update', 'replace', 'delete', 'create', 'call', 'approve', 'remove', 'peek', 'price']
const TYPES = ['tools', 'papers', 'drafts', 'sheets', 'notes', 'users', 'nothing']
const SUBJECTS = [
  ...[ofMember('red'), ofMember('blue'), ofMember(undefined)],
  { type: 'employee', id: 'boss', properties: { roles: ['member'] } },
  ...['alice', 'bob', 'mallory', 'nobody'].map((id) => ({ type: 'user', id })),
]
const FIELDS = [undefined, { fields: ['title'] }, { fields: ['team', 'cost', 'other'] }]

describe('a question of another service', () => {
  let server: TestServer
  let records: readonly object[]

  before(async () => {
    const started = await startAsserted()
    server = started.server
    const { ask } = askingBy(() => server)
    const ids = await idsOf(server, started.note)
    const questions = TYPES.flatMap((type) =>
      ACTIONS.flatMap((name) => SUBJECTS.map((subject, i) => questionOf({ type, name, subject, ids }, i))),
    )
    for (const service of ['crm', 'hr', 'believer']) {
      const evaluations = questions.filter((_, i) => i % 3 === service.length % 3)
      await ask(service, { evaluations }, 'evaluations')
    }
    for (const { resource, ...rest } of questions.filter((_, i) => i % 7 === 0)) {
      const { id: _, properties: __, ...type } = resource as typeof resource & { properties?: object }
      await ask('hr', { ...rest, resource: type }, 'filter')
    }
    records = await server.decisions()
  })
  after(() => server.stop())

  it('is answered again as its record says', async () => {
    const found = await questionsAgain(server.app, records)
    expect(found.filter(({ again }) => again.kind === 'different')).to.deep.equal([])
    const by = Object.groupBy(found, ({ again: { kind } }) => kind)
    expect(by.same?.length, 'decided again').to.be.above(found.length / 2)
    const why = new Set(by.undecidable?.map(({ again }) => (again.kind === 'undecidable' ? again.why : '')))
    expect([...why]).to.deep.equal(['it depended on a condition that was not known'])
    const reasons = new Set(by.unconcerned?.map(({ asked }) => asked.reason))
    expect([...reasons].toSorted()).to.deep.equal(['subject-unknown'])
    expect(new Set(by.same?.map(({ asked }) => asked.decision)).size, 'both answers').to.equal(2)
  })

  it('is found out where the record has another answer', async () => {
    const other = (asked: AskedRecord) =>
      asked.decision
        ? { ...asked, decision: false, reason: 'not-granted' }
        : { ...asked, decision: true, reason: undefined }
    const honest = await questionsAgain(server.app, records)
    const found = await questionsAgain(server.app, records, other)
    // Only the body shows that it doesn't fit its schema.
    const isOfPolicy = (i: number) => honest[i]?.again.kind === 'same' && honest[i].asked.reason !== 'body-invalid'
    const wrong = found.filter((_, i) => isOfPolicy(i))
    const kinds = Object.groupBy(wrong, ({ again: { kind } }) => kind)
    expect(kinds.same ?? [], 'an answer that the policy does not give').to.deep.equal([])
    expect(kinds.different?.length).to.be.above(wrong.length / 2)
  })

  it('is not decided by masked values, nor without its facts', async () => {
    const honest = await questionsAgain(server.app, records)
    for (const without of [{ cut: true }, { subject: '***' }, { roles: ['***'] }, { objectId: '***' }] as const) {
      const found = await questionsAgain(server.app, records, (asked) => ({ ...asked, ...without }))
      const left = found.filter((_, i) => honest[i]?.again.kind === 'same')
      expect(new Set(left.map(({ again }) => again.kind))).to.deep.equal(new Set(['undecidable']))
    }
  })
})

interface Drawn {
  readonly type: string
  readonly name: string
  readonly subject: object
  readonly ids: Readonly<Record<string, string>>
}

const PROPERTIES: Readonly<Record<string, object>> = { tools: TOOL, papers: { team: 'red' } }

/** With and without properties, a body, fields and a condition, each in turn. */
function questionOf({ type, name, subject, ids }: Drawn, place: number) {
  const turn = place + name.length + type.length
  const given = turn % 3 === 0 ? { properties: PROPERTIES[type] ?? {} } : {}
  const isChange = name === 'update' && turn % 2 === 0
  const body = isChange ? { properties: { body: { title: 'New' } } } : {}
  const id = turn % 5 === 0 ? 'missing' : (ids[type] ?? 't1')
  const context = { ...FIELDS[turn % FIELDS.length], inOffice: turn % 2 === 0 }
  return about(subject, { name, ...body }, { type, id, ...given }, context)
}

async function idsOf(server: TestServer, note: string): Promise<Readonly<Record<string, string>>> {
  const token = await server.token('root', 'admin')
  const made = await server.ask('POST', '/papers', { token, body: { team: 'red' } })
  return { notes: note, papers: made.headers.get('location')?.split('/').pop() ?? '', users: 'alice' }
}
