/** Conditions on values, times and related objects in memory: what each kind means, in the smallest worlds. */

import { expect } from 'chai'
import {
  type Climb,
  type Condition,
  comparisonsIn,
  isCondition,
  lookUpIn,
  lookupOf,
  meets,
  type Related,
  withValues,
} from '../../src/decide/conditions/condition.ts'
import type { Json, Representation } from '../../src/resources/resource.ts'
import { always } from './conditions.ts'

const self: Condition = { kind: 'holds', field: 'userId', values: ['alice'] }
const members: Related = { kind: 'related', field: 'projectId', resource: 'members', by: 'projectId', where: self }

function meetsIn(world: Readonly<Record<string, readonly Representation[]>>) {
  const lookUp = lookUpIn((resource) => world[resource] ?? [])
  return (condition: Condition, object: Representation) => meets(condition, object, lookUp)
}

describe('a condition on the values of a field', () => {
  it('is met by a present field: a value, not null, not an empty list', () => {
    const present: Condition = { kind: 'present', field: 'a' }
    for (const a of ['', 0, false, ['x'], [null, 1]] as Json[]) expect(meets(present, { a }), `${a}`).to.equal(true)
    for (const a of [null, [], [null], {}, [[1]]] as Json[]) {
      expect(meets(present, { a }), JSON.stringify(a)).to.equal(false)
    }
    expect(meets(present, {})).to.equal(false)
    expect(meets({ kind: 'present', field: 'toString' }, {})).to.equal(false)
  })

  it('is met by a number between the bounds, and of a list by one number between both', () => {
    const small: Condition = { kind: 'between', field: 'n', atLeast: 1, atMost: 3 }
    for (const n of [1, 2.5, 3, [0, 2]] as Json[]) expect(meets(small, { n }), `${n}`).to.equal(true)
    for (const n of [0.9, 3.1, '2', true, null, [0, 4], [[2]]] as Json[]) {
      expect(meets(small, { n }), `${n}`).to.equal(false)
    }
    expect(meets({ kind: 'between', field: 'n', atLeast: 1 }, { n: 1e9 })).to.equal(true)
    expect(meets({ kind: 'between', field: 'n', atMost: 1 }, { n: -1e9 })).to.equal(true)
  })

  it('is met by a time strictly between the instants, whatever its offset, and of a list by one time', () => {
    const [after, before] = [Date.parse('2026-01-01T00:00:00Z'), Date.parse('2026-01-02T00:00:00Z')]
    const day: Condition = { kind: 'time', field: 't', after, before }
    const fit: Json[] = ['2026-01-01T00:00:00.001Z', '2026-01-02T00:30:00+01:00', ['x', '2026-01-01T12:00:00Z']]
    for (const t of fit) expect(meets(day, { t }), `${t}`).to.equal(true)
    const unfit: Json[] = [
      '2026-01-01T00:00:00Z',
      '2026-01-01T01:00:00+01:00',
      '2026-01-02T00:00:00Z',
      '2026-01-01T12:00:00',
      '2026-01-01',
      after + 1,
      null,
      ['2025-12-31T00:00:00Z', '2026-01-03T00:00:00Z'],
    ]
    for (const t of unfit) expect(meets(day, { t }), `${t}`).to.equal(false)
  })
})

describe('a condition on related objects', () => {
  it('is met when one object that shares a value meets the rest, whichever side is a list', () => {
    const check = meetsIn({
      members: [
        { id: 'm1', projectId: 'p1', userId: 'alice' },
        { id: 'm2', projectId: ['p2', 'p3'], userId: 'alice' },
        { id: 'm3', projectId: 'p4', userId: 'bob' },
        { id: 'm4', projectId: null, userId: 'alice' },
        { id: 'm5', projectId: 5, userId: 'alice' },
      ],
    })
    for (const projectId of ['p1', 'p3', ['p9', 'p2'], 5] as Json[]) {
      expect(check(members, { projectId }), `${projectId}`).to.equal(true)
    }
    for (const projectId of ['p4', 'p9', null, [], [['p1']], { p1: 'p1' }, '5', true] as Json[]) {
      expect(check(members, { projectId }), JSON.stringify(projectId)).to.equal(false)
      expect(check({ kind: 'not', of: members }, { projectId }), JSON.stringify(projectId)).to.equal(true)
    }
    expect(check(members, {})).to.equal(false)
  })

  it('is met through several resources', () => {
    const through: Condition = {
      kind: 'related',
      field: 'projectId',
      resource: 'projects',
      by: 'id',
      where: { kind: 'related', field: 'id', resource: 'members', by: 'projectId', where: self },
    }
    const check = meetsIn({
      projects: [{ id: 'p1' }],
      members: [{ id: 'm', projectId: ['p1', 'gone'], userId: 'alice' }],
    })
    expect(check(through, { projectId: 'p1' })).to.equal(true)
    expect(check(through, { projectId: 'gone' }), 'a deleted parent').to.equal(false)
  })

  it('climbs as many steps as it has, and ends on a circle', () => {
    const climb = (depth: number): Climb => {
      return {
        kind: 'climb',
        field: 'up',
        resource: 'folders',
        depth,
        where: { ...self, field: 'ownerId' } as Condition,
      }
    }
    const folders = [
      { id: 'top', ownerId: 'alice' },
      { id: 'a', up: 'top' },
      { id: 'b', up: ['gone', 'a'] },
      { id: 'c', up: 'b' },
      { id: 'x', up: 'y' },
      { id: 'y', up: 'x' },
      { id: 'own', up: 'own', ownerId: 'alice' },
    ] satisfies Representation[]
    const check = meetsIn({ folders })
    const found = (depth: number) => folders.filter((one) => check(climb(depth), one)).map(({ id }) => id)
    expect(found(1)).to.deep.equal(['a', 'own'])
    expect(found(2)).to.deep.equal(['a', 'b', 'own'])
    expect(found(8)).to.deep.equal(['a', 'b', 'c', 'own'])
  })

  it('asks for the values of the object, and for nothing where it has none', () => {
    const where = always
    const climb: Climb = { kind: 'climb', field: 'up', resource: 'folders', depth: 3, where }
    expect(lookupOf({ ...members, where }, { projectId: ['p', null, 'p', '\ud800', 1] })).to.deep.equal({
      resource: 'members',
      by: 'projectId',
      values: ['p', 1],
      where,
    })
    expect(lookupOf(climb, { up: 'f' })).to.deep.equal({
      resource: 'folders',
      by: 'id',
      values: ['f'],
      climb: { field: 'up', depth: 3 },
      where,
    })
    for (const object of [{}, { projectId: [] }, { projectId: '\ud800' }]) {
      expect(lookupOf(members, object)).to.equal(undefined)
    }
  })

  it('is a mistake where nobody can look related objects up', () => {
    expect(() => meets(members, { projectId: 'p' })).to.throw('related objects')
  })
})

describe('the values that a condition compares', () => {
  const nested: Condition = { kind: 'all', of: [{ kind: 'not', of: self }, members] }

  it('are those of related objects too, with their resource', () => {
    expect(comparisonsIn(nested)).to.deep.equal([
      { resource: undefined, field: 'userId', value: 'alice' },
      { resource: 'members', field: 'userId', value: 'alice' },
    ])
    const masked = withValues(nested, ({ resource, value }) => (resource === 'members' ? '***' : value))
    expect(comparisonsIn(masked).map(({ value }) => value)).to.deep.equal(['alice', '***'])
  })

  it('come back from a file as a condition, and nothing else does', () => {
    const conditions: Condition[] = [
      always,
      nested,
      { kind: 'present', field: 'a' },
      { kind: 'between', field: 'a', atLeast: 1 },
      { kind: 'time', field: 'a', before: 1 },
      { kind: 'climb', field: 'a', resource: 'b', depth: 2, where: always },
    ]
    for (const condition of conditions) {
      expect(isCondition(JSON.parse(JSON.stringify(condition))), condition.kind).to.equal(true)
    }
    const others = [
      null,
      'always',
      [],
      {},
      { kind: 'toString' },
      { kind: 'present' },
      { kind: 'between', field: 'a', atLeast: '1' },
      { kind: 'related', field: 'a', resource: 'b', where: always },
      { ...members, where: { kind: 'holds' } },
      { kind: 'all', of: [members, 1] },
    ]
    for (const other of others) expect(isCondition(other), JSON.stringify(other)).to.equal(false)
  })
})
