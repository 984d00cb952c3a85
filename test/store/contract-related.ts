/** The contract: conditions on related objects mean in the engine what `meets` and `lookUpIn` say in plain code. */

import { expect } from 'chai'
import fc from 'fast-check'
import { type Condition, lookUpIn, meets } from '../../src/decide/conditions/condition.ts'
import type { Representation } from '../../src/resources/resource.ts'
import { drawing, runs, soak } from '../runs.ts'
import { all, always, not } from './conditions.ts'
import { ALL, NEW_YEAR, type TestDatabase, type TestEngine } from './engine.ts'
import { change, creation, failure, type Opened } from './fixture.ts'
import { inputsFor } from './inputs-for.ts'
import { INDEXED, RELATED, randomLookup, randomRelated, randomWorld, type World } from './random-related.ts'

/** A machine that is busy with other work draws fewer inputs. */
const RUNS = { endOnFailure: true }

export function describeRelated(database: () => TestDatabase): void {
  const open = () => database().open({ resources: RELATED, now: atNewYear, indexFields: INDEXED })

  it('lists by related objects, and marks each row', async () => {
    const { store, seeding } = await open()
    await seeding.insert('users', [
      { id: 'm1', document: { own: 'alice', up: 'p1' } },
      { id: 'm2', document: { own: 'bob', up: 'p2' } },
    ])
    await seeding.insert('projects', [
      { id: 'p1', document: {} },
      { id: 'p2', document: {} },
    ])
    await seeding.insert(
      'tasks',
      ['p1', 'p2', 'gone', null, ['p2', 'p1']].map((list, i) => ({ id: `t${i}`, document: { list } })),
    )
    const member = (id: string): Condition => ({
      kind: 'related',
      field: 'list',
      resource: 'projects',
      by: 'id',
      where: {
        kind: 'related',
        field: 'id',
        resource: 'users',
        by: 'up',
        where: { kind: 'holds', field: 'own', values: [id] },
      },
    })
    const listed = async (where: Condition) => (await store.list('tasks', { ...ALL, where })).map(({ id }) => id).join()
    expect(await listed(member('alice'))).to.equal('t0,t4')
    expect(await listed({ kind: 'not', of: member('alice') })).to.equal('t1,t2,t3')
    expect(await listed(member('nobody'))).to.equal('')
    const rows = await store.list('tasks', { ...ALL, where: always, marks: [member('alice'), member('bob'), always] })
    expect(rows.map(({ marks }) => marks.map(Number).join(''))).to.deep.equal(['101', '011', '001', '001', '111'])
  })

  it('takes no number for the text of a number, and no nested list for another, from either end', async () => {
    const { store, seeding } = await open()
    const values = [1, '1.0', [[1]]] as const
    for (const name of ['tasks', 'projects', 'users']) {
      await seeding.insert(name, [
        { id: '1.0', document: {} },
        ...values
          .slice(0, 2)
          .map((up, i) => ({ id: `${typeof up}${i}`, document: { own: 'alice', up, list: [up, null] } })),
        { id: 'nested', document: { list: values[2] } },
        { id: 'both', document: { plain: 'x', list: values } },
      ])
    }
    const mine: Condition = { kind: 'holds', field: 'own', values: ['alice'] }
    const named = (id: string): Condition => ({ kind: 'holds', field: 'id', values: [id] })
    const related = (field: string, by: string, where: Condition): Condition => {
      return { kind: 'related', field, resource: 'projects', by, where }
    }
    const climbing = (where: Condition): Condition => ({
      kind: 'climb',
      field: 'up',
      resource: 'tasks',
      depth: 2,
      where,
    })
    const unled: Condition = { kind: 'present', field: 'id' }
    const cases: readonly (readonly [Condition, string])[] = [
      [related('id', 'up', mine), '1.0'],
      [related('id', 'up', all(mine, named('number0'))), ''],
      [related('id', 'up', all(unled, not(mine))), ''],
      [related('up', 'id', named('1.0')), 'string1'],
      [related('up', 'id', unled), 'string1'],
      [related('up', 'up', named('number0')), 'number0'],
      [related('up', 'up', all(unled, not(named('number0')))), 'string1'],
      [related('list', 'id', unled), 'both,string1'],
      [related('id', 'list', unled), '1.0'],
      [related('list', 'list', named('nested')), ''],
      [climbing(named('1.0')), 'string1'],
      [climbing(unled), 'string1'],
    ]
    for (const [where, expected] of cases) {
      const rows = await store.list('tasks', { ...ALL, where })
      expect(rows.map(({ id }) => id).join(), JSON.stringify(where)).to.equal(expected)
    }
  })
}

const atNewYear = () => new Date(NEW_YEAR)

export function describeRandomRelated(engine: TestEngine): void {
  interface Wrong {
    readonly lists?: (condition: Condition, object: Representation, world: World) => boolean
  }

  /** Lists, counts, marks and lookups in the engine against plain code. */
  async function compare(opened: Opened, world: World, wheres: readonly Condition[], { lists }: Wrong): Promise<void> {
    const { store } = opened
    const representations = new Map(
      Object.entries(world).map(([name, some]) => [
        name,
        some.map(({ id, document }) => ({ id, ...document, createdAt: NEW_YEAR, updatedAt: NEW_YEAR })),
      ]),
    )
    const lookUp = lookUpIn((name) => representations.get(name) ?? [])
    const tasks = representations.get('tasks') ?? []
    const check = lists
      ? (where: Condition, object: Representation) => lists(where, object, world)
      : (where: Condition, object: Representation) => meets(where, object, lookUp)
    const inOrder = (ids: readonly string[]) => ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    for (const where of wheres) {
      const expected = inOrder(tasks.filter((object) => check(where, object)).map(({ id }) => id))
      expect((await store.list('tasks', { ...ALL, where })).map(({ id }) => id)).to.deep.equal(expected)
      expect(await store.count('tasks', { where })).to.deep.equal({ found: expected.length, isExact: true })
      const [all] = await store.aggregate('tasks', { where, by: [], of: [], limit: 1 })
      expect(all?.count).to.equal(expected.length)
      const next = await store.list('tasks', { ...ALL, where, limit: 2, after: [expected[0] ?? ''] })
      expect(next.map(({ id }) => id)).to.deep.equal(expected.filter((id) => id > (expected[0] ?? '')).slice(0, 2))
    }
    for (const row of await store.list('tasks', { ...ALL, marks: wheres })) {
      const object = tasks.find(({ id }) => id === row.id) ?? {}
      expect(row.marks).to.deep.equal(wheres.map((where) => check(where, object)))
    }
  }

  async function assertLists(wrong: Wrong = {}, numRuns = runs(300, 40)): Promise<void> {
    const wheres = fc.array(randomRelated, { minLength: 1, maxLength: 12, size: 'max' })
    const property = fc.asyncProperty(randomWorld, wheres, fc.boolean(), async (world, conditions, indexed) => {
      await inWorld(world, indexed, (opened) => compare(opened, world, conditions, wrong))
    })
    await fc.assert(property, { ...RUNS, numRuns })
  }

  async function inWorld(world: World, indexed: boolean, work: (opened: Opened) => Promise<void>): Promise<void> {
    const own = await engine.create()
    try {
      const opened = await own.open({ resources: RELATED, now: atNewYear, ...(indexed && { indexFields: INDEXED }) })
      for (const [name, some] of Object.entries(world)) await opened.seeding.insert(name, some)
      await work(opened)
    } finally {
      await own.remove()
    }
  }

  it('lists, counts and marks by random conditions on related objects as plain code does', () =>
    assertLists({}, inputsFor(engine, runs(300, 40))))

  if (engine.share === undefined)
    it('would notice a deleted parent that still counts', async () => {
      const forgiving = (where: Condition, object: Representation): boolean => meets(where, object, () => true)
      expect(await failure(assertLists({ lists: forgiving }))).to.be.an('error')
    })

  it('answers random lookups as plain code does', async () => {
    const lookups = fc.array(randomLookup, { minLength: 1, maxLength: 20, size: 'max' })
    let held = 0
    const property = fc.asyncProperty(randomWorld, lookups, fc.boolean(), async (world, asked, indexed) => {
      await inWorld(world, indexed, async ({ store }) => {
        const lookUp = lookUpIn((name) => {
          return (world[name] ?? []).map(({ id, document }) => {
            return { id, ...document, createdAt: NEW_YEAR, updatedAt: NEW_YEAR }
          })
        })
        for (const lookup of asked) {
          const holds = lookUp(lookup)
          held += Number(holds)
          expect(await store.lookup(lookup), JSON.stringify(lookup)).to.equal(holds)
        }
      })
    })
    await drawing(
      () => fc.assert(property, { ...RUNS, numRuns: inputsFor(engine, runs(300, 40)) }),
      () => expect(held, 'some hold').to.be.greaterThan(soak(5, 2) * (engine.share ?? 1)),
    )
  })

  it('answers random lookups as they will be after a write, which is not done', async () => {
    const lookups = fc.array(randomLookup, { minLength: 20, maxLength: 40, size: 'max' })
    const name = fc.constantFrom('tasks', 'projects', 'users')
    const asked = fc.record({ world: randomWorld, others: randomWorld, name, lookups, isNew: fc.boolean() })
    let changed = 0
    const property = fc.asyncProperty(asked, async ({ world, others, name: written, isNew, lookups: some }) => {
      const [id, document] = [world[written]?.[0]?.id ?? '', others[written]?.[0]?.document ?? {}]
      const permit = isNew ? creation('gone', document, written) : change(id, 1, document, written)
      await inWorld(world, true, async ({ store }) => {
        // One after another: a server whose connections are all busy for a second refuses who waits for one.
        const now = () => Array.fromAsync(some, (lookup) => store.lookup(lookup))
        const before = await now()
        const foretold = await Array.fromAsync(some, (lookup) => store.lookupAfter(permit, lookup))
        expect(await now()).to.deep.equal(before)
        if (permit.kind === 'create') await store.create(permit)
        else await store.update(permit)
        expect(foretold).to.deep.equal(await now())
        changed += foretold.filter((holds, i) => holds !== before[i]).length
      })
    })
    await drawing(
      () => fc.assert(property, { ...RUNS, numRuns: inputsFor(engine, runs(200, 20), soak(10, 8)) }),
      () => expect(changed, 'some change').to.be.greaterThan(0),
    )
  })
}
