/** The contract: a list holds exactly the objects that meet the condition one by one. */

import { expect } from 'chai'
import fc from 'fast-check'
import { type Condition, meets } from '../../src/decide/conditions/condition.ts'
import { representListed } from '../listed.ts'
import { runs } from '../runs.ts'
import { holds, not } from './conditions.ts'
import { ALL, NEW_YEAR, type Open, type TestEngine } from './engine.ts'
import { creation, failure, ODD, type Opened, RESOURCES } from './fixture.ts'
import { inputsFor } from './inputs-for.ts'
import { randomCondition, randomDocument } from './random.ts'

export function describeConditions(open: Open): void {
  it('lists by server fields, odd names, lists and types as declared', async () => {
    const { store, seeding } = await open()
    await seeding.insert('things', [
      { id: 'a', document: { [ODD]: 'x', tags: ['red', 'blue'], scores: [1, 2.5], open: true, count: 1 } },
      { id: 'b', document: { [ODD]: 'y', tags: [], open: false, count: 0 } },
      { id: 'c', document: { open: null } },
    ])
    const ids = async (where: Condition) =>
      (await store.list('things', { ...ALL, where })).map((one) => one.id).join('')
    expect(await ids(holds('id', 'a', 'c'))).to.equal('ac')
    expect(await ids(holds('createdAt', NEW_YEAR))).to.equal('abc')
    expect(await ids(holds(ODD, 'x'))).to.equal('a')
    expect(await ids(holds('tags', 'blue', 'green'))).to.equal('a')
    expect(await ids(holds('scores', 2.5))).to.equal('a')
    expect(await ids(holds('open', true))).to.equal('a')
    expect(await ids(holds('open', 1))).to.equal('')
    expect(await ids(holds('count', true, '1'))).to.equal('')
    expect(await ids(holds('count', 0))).to.equal('b')
    expect(await ids(not(holds('tags', 'blue')))).to.equal('bc')
    expect(await ids(not(holds('open', true)))).to.equal('bc')
    expect(await ids({ kind: 'all', of: [] })).to.equal('abc')
    expect(await ids({ kind: 'some', of: [] })).to.equal('')
    expect(await ids(holds('id'))).to.equal('')
  })

  it('takes numbers alone for numbers between bounds, also where a bound is missing', async () => {
    const { store, seeding } = await open()
    const scalars = ['', '0', 'a', 0, -1, 5, true, false, null]
    const values = [...scalars, [], [''], ['', 5], [[5]], [true, null], { a: 5 }]
    await seeding.insert('things', [
      ...scalars.map((count, n) => ({ id: `s${n}`, document: { count } })),
      ...values.map((one, n) => ({ id: `v${n}`, document: { price: one, scores: one } })),
    ])
    const ids = async (where: Condition) =>
      (await store.list('things', { ...ALL, where })).map(({ id }) => id).join(' ')
    expect(await ids({ kind: 'between', field: 'count', atLeast: 0 })).to.equal('s3 s5')
    const everything = await store.list('things', ALL)
    const bounds = [{}, { atLeast: 0 }, { atMost: 0 }, { atLeast: -1, atMost: 0 }]
    for (const field of ['count', 'price', 'scores']) {
      const some = bounds.map((bound): Condition => ({ kind: 'between', field, ...bound }))
      for (const where of [...some, ...some.map(not), { kind: 'present', field } as const]) {
        const expected = everything.filter((one) => meets(where, representListed(one))).map(({ id }) => id)
        expect(await ids(where), JSON.stringify(where)).to.equal(expected.join(' '))
      }
    }
  })

  it('takes values as values, never as SQL', async () => {
    const { store } = await open()
    await store.create(creation('a', { ownerId: "x' or '1'='1" }))
    expect(await store.list('things', { ...ALL, where: holds('ownerId', "x' or '1'='1") })).to.have.length(1)
    expect(await store.list('things', { ...ALL, where: holds('ownerId', "' or 1=1 --") })).to.have.length(0)
    expect(await store.list('things', { ...ALL, where: holds(`ownerId" is null or "id`, 'x') })).to.have.length(0)
  })

  it('takes many values at once', async () => {
    const { store } = await open()
    await store.create(creation('a', { ownerId: 'o999' }))
    const values = Array.from({ length: 1000 }, (_, index) => `o${index}`)
    expect(await store.list('things', { ...ALL, where: holds('ownerId', ...values) })).to.have.length(1)
    expect(await store.list('things', { ...ALL, where: holds('department', ...values) })).to.have.length(0)
  })
}

export function describeRandomConditions(engine: TestEngine): void {
  /** Fails when the list isn't exactly the objects that pass the check one by one. */
  async function compare({ store }: Opened, wheres: readonly Condition[], check: typeof meets): Promise<void> {
    const everything = await store.list('things', ALL)
    for (const where of wheres) {
      const expected = everything.filter((object) => check(where, representListed(object)))
      expect(await store.list('things', { ...ALL, where })).to.deep.equal(expected)
    }
  }

  async function assertLists(check: typeof meets, numRuns = 60): Promise<void> {
    const documents = fc.array(randomDocument, { minLength: 1, maxLength: 12 })
    const conditions = fc.array(randomCondition, { minLength: 1, maxLength: 60, size: 'max' })
    const property = fc.asyncProperty(documents, conditions, async (stored, wheres) => {
      const database = await engine.create()
      try {
        const opened = await database.open({ resources: RESOURCES, now: () => new Date(NEW_YEAR) })
        const objects = stored.map((document, index) => ({ id: `id-${index}`, document }))
        await opened.seeding.insert('things', objects)
        await compare(opened, wheres, check)
      } finally {
        await database.remove()
      }
    })
    await fc.assert(property, { numRuns, endOnFailure: true })
  }

  it('lists exactly the objects that meet the condition one by one, for random objects and conditions', () =>
    assertLists(meets, inputsFor(engine, runs(60))))

  if (engine.share !== undefined) return

  it('would notice a negation that leaves out objects without the field', async () => {
    const threeValued = (condition: Condition, object: Parameters<typeof meets>[1]): boolean =>
      condition.kind === 'not' && condition.of.kind === 'holds' && !Object.hasOwn(object, condition.of.field)
        ? false
        : meets(condition, object)
    expect(await failure(assertLists(threeValued))).to.be.an('error')
  })
}
