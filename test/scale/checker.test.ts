/** The checker of the scale tests accepts a good history, and finds each fault in one that was changed. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import type { Operation } from './ask.ts'
import { type Evidence, judge, type Verdict } from './checker.ts'
import { clocksOf } from './clocks.ts'
import { CHANGES } from './leave-out.ts'
import { longestLag, longestRefusal } from './longest.ts'
import { membershipOf, withoutRole } from './world.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const NONE = { lost: [], doubled: [], unrecorded: [], repeated: [], wrong: [], stale: [], overAdmitted: [] }

const operation = (given: Partial<Operation>): Operation => ({
  client: 'u0',
  instance: 'api-1',
  kind: 'update',
  sentAt: 0,
  endedAt: 1,
  status: 204,
  sequence: 1,
  atLeast: 0,
  ...given,
})

const record = (given: Partial<DecisionRecord>): DecisionRecord => ({
  time: '2026-11-22T12:00:00.000Z',
  requestId: 'r',
  revision: 'open',
  method: 'POST',
  outcome: 'allowed',
  status: 201,
  microseconds: 1,
  resource: 'tasks',
  action: 'create',
  subject: 'u0',
  ...given,
})

const created = operation({ kind: 'create', title: 'u0 1 new', id: 'a', status: 201, sentAt: 10, endedAt: 12 })
const updated = operation({ title: 'u0 2', sentAt: 14, endedAt: 16 })
const createdRecord = record({ objectId: 'a', write: 1, facts: { proposed: { title: 'u0 1 new' } } })
const updatedRecord = record({
  action: 'update',
  objectId: 'task-u0',
  write: 2,
  facts: { proposed: { title: 'u0 2' } },
})
const leaving = record({ resource: 'memberships', action: 'delete', objectId: membershipOf('u0'), subject: 'k0' })

const good: Evidence = {
  operations: [created, updated],
  removals: [{ user: 'u0', right: 'membership', acknowledgedAt: 20, givenBackAt: 40 }],
  tasks: new Map([
    ['a', 'u0 1 new'],
    ['task-u0', 'u0 2'],
  ]),
  records: [createdRecord, updatedRecord],
  logs: [[createdRecord], [createdRecord, updatedRecord]],
  published: [
    { kind: 'open', revision: 'open', acknowledgedAt: 0 },
    { kind: 'closed', revision: 'closed', acknowledgedAt: 50 },
    { kind: 'open', revision: 'again', acknowledgedAt: 60 },
  ],
  versions: new Map([
    ['open', 1],
    ['closed', 2],
    ['again', 3],
  ]),
  limit: { allow: 2, windowMs: 100 },
  redisLost: [],
}

const withOperations = (...more: Operation[]): Evidence => ({ ...good, operations: [...good.operations, ...more] })

describe('the checker of the scale tests', () => {
  it('finds nothing in a history without faults', () => {
    expect(judge(good)).to.deep.equal({ writes: 2, ...NONE })
  })

  const finds = (what: keyof Verdict, title: string, evidence: Evidence, found: readonly string[]) =>
    it(`finds ${title}`, () => {
      expect(judge(evidence)).to.deep.include({ ...NONE, [what]: found })
    })

  const titles = (...entries: [string, string][]) => new Map([...good.tasks, ...entries])
  finds('lost', 'an acknowledged update that is lost', { ...good, tasks: titles(['task-u0', 'u0 1']) }, ['u0 2'])
  finds('lost', 'an acknowledged create that is lost', { ...good, tasks: new Map([['task-u0', 'u0 2']]) }, ['u0 1 new'])
  finds(
    'doubled',
    'a create that was repeated and made two objects',
    {
      ...good,
      tasks: titles(['b', 'u0 1 new']),
      records: [...good.records, record({ objectId: 'b', write: 3, facts: { proposed: { title: 'u0 1 new' } } })],
    },
    ['u0 1 new'],
  )
  finds('unrecorded', 'an update without a record', { ...good, records: [createdRecord] }, ['u0 2'])
  finds('unrecorded', 'an object without a record', { ...good, tasks: titles(['b', 'u0 5 new']) }, ['b'])

  const twice = { ...good, logs: [[createdRecord, updatedRecord, createdRecord]] }
  finds('repeated', 'a write that stands twice in one log', twice, ['write 1'])
  const other = { ...good, logs: [[createdRecord], [{ ...createdRecord, requestId: 'other' }]] }
  finds('repeated', 'a number that two writes have', other, ['write 1'])

  const probe = (status: number, revision: string) => operation({ client: 'prober', kind: 'probe', status, revision })
  finds('wrong', 'a refusal that the policy does not give', withOperations(probe(403, 'open')), ['403 under open'])
  finds('wrong', 'an answer under a policy that nobody published', withOperations(probe(200, 'other')), [
    '200 under other',
  ])
  const planned = record({ resource: 'plans', action: 'update', write: 3, facts: { proposed: { title: 'plan 1' } } })
  finds(
    'wrong',
    'a write without an answer that the policy does not give',
    { ...good, records: [...good.records, { ...planned, revision: 'closed' }] },
    ['write under closed'],
  )
  finds('wrong', 'a permit that the policy does not give', withOperations(probe(200, 'closed')), ['200 under closed'])

  const late = { title: 'u0 3', sentAt: 25, endedAt: 30 }
  const lateRecord = record({ action: 'update', objectId: 'task-u0', write: 3, facts: { proposed: { title: 'u0 3' } } })
  const lateEvidence = { ...good, tasks: titles(['task-u0', 'u0 3']), records: [...good.records, lateRecord] }
  finds(
    'stale',
    'a write that was sent after the removal was acknowledged',
    { ...lateEvidence, operations: [...good.operations, operation(late)] },
    ['u0 3: no membership'],
  )
  finds(
    'stale',
    'such a write that got no answer, but was committed',
    { ...lateEvidence, operations: [...good.operations, operation({ ...late, status: 0 })] },
    ['u0 3: no membership'],
  )
  finds(
    'stale',
    'an answer by an older version than the client asked for',
    withOperations({ ...probe(200, 'open'), sequence: 3, atLeast: 4 }),
    ['answered by version 3 instead of 4'],
  )
  finds(
    'stale',
    'a commit after the commit that removed the membership',
    { ...good, records: [createdRecord, { ...leaving, write: 2 }, { ...updatedRecord, write: 3 }] },
    ['write 3: no membership'],
  )

  const roleLost = { title: `${withoutRole('u0')} 1`, user: 'u0', right: 'role', acknowledgedAt: 20 } as const
  const roleRecord = (write: number, displayName: string) =>
    record({ resource: 'users', action: 'update', objectId: 'u0', write, facts: { proposed: { displayName } } })
  const withRoleLost = (sentAt: number, written: number): Evidence => ({
    ...good,
    operations: [created, updated, operation({ ...late, sentAt, status: 0 })],
    removals: [{ ...roleLost, givenBackAt: 26 }],
    tasks: titles(['task-u0', 'u0 3']),
    records: [...good.records, roleRecord(3, roleLost.title), { ...lateRecord, write: written }, roleRecord(5, 'u0 1')],
  })
  finds(
    'stale',
    'a commit between those that took the role and gave it back, although the client was told nothing',
    withRoleLost(25, 4),
    ['write 4: no role'],
  )
  it('accepts a commit after the role was given back, and one that was sent before the removal was acknowledged', () => {
    for (const evidence of [withRoleLost(25, 6), withRoleLost(19, 4)]) expect(judge(evidence)).to.deep.include(NONE)
  })

  const changesPlan = operation({ client: 'prober', kind: 'probe', title: 'plan 1', status: 0, atLeast: 3 })
  const underVersion = (revision: string): Evidence => ({
    ...withOperations(changesPlan),
    records: [...good.records, { ...planned, revision }],
  })
  finds('stale', 'a commit under an older version than the client asked for, without an answer', underVersion('open'), [
    'write 3: no such version any more',
  ])
  it('accepts a commit under the version that the client asked for', () => {
    expect(judge(underVersion('again'))).to.deep.include(NONE)
  })

  const flood = (sentAt: number) => operation({ client: 'flooder', kind: 'flood', sentAt, endedAt: sentAt + 1 })
  const flooded = withOperations(flood(0), flood(10), flood(20), flood(150))
  finds('overAdmitted', 'a window with more requests than the limit', flooded, ['3 requests in 21 ms'])
  finds('overAdmitted', 'no window while Redis is lost', { ...flooded, redisLost: [{ from: 5, to: 15 }] }, [])

  it('measures for how long an instance certainly lagged behind the policy', () => {
    const at = (sentAt: number, sequence: number) => operation({ sentAt, sequence })
    const lag = (...operations: Operation[]) => longestLag({ ...good, operations })
    expect(lag(at(49, 1), at(51, 2), at(61, 3))).to.equal(0)
    expect(lag(at(55, 1), at(63, 2), at(80, 3), at(90, 0))).to.equal(5)
  })

  it('tells how far the clock of an instance is ahead, by the times of its records', () => {
    const sentAt = performance.now()
    const time = new Date(performance.timeOrigin + sentAt + 3_600_000).toISOString()
    const records = [{ ...updatedRecord, instance: 'api-1', time }]
    const ahead = clocksOf({ operations: [{ ...updated, sentAt }], records })
    expect(Math.round(ahead.get('api-1') ?? 0)).to.equal(3600)
  })

  it('measures a refusal from its first request until the next answer', () => {
    const at = (sentAt: number, status: number) => operation({ sentAt, endedAt: sentAt + 5, status })
    expect(longestRefusal([at(0, 204), at(10, 503), at(20, 0), at(30, 403), at(40, 503), at(50, 204)])).to.equal(25)
  })
})

describe('the guards that scale tests leave out', () => {
  for (const [guard, { file, from }] of Object.entries(CHANGES)) {
    it(`have their code in one place: ${guard}`, () => {
      expect(readFileSync(join(ROOT, file), 'utf8').split(from)).to.have.length(2)
    })
  }
})
