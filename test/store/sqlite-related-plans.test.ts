/** How the engine finds objects by related ones: from the caller's few memberships, by indexes alone. */
import { expect } from 'chai'
import type { Condition } from '../../src/decide/conditions/condition.ts'
import type { ObjectQuery, Store } from '../../src/store/contract.ts'
import { all, climb, holds, member, memberOf, some } from './conditions.ts'
import { Folder } from './folder.ts'
import { INDEXED, RELATED } from './random-related.ts'
import { statementsOf } from './statements.ts'

const TASKS = 10_000
const PROJECTS = 500

describe('a list by related objects', () => {
  let folder: Folder
  let store: Store
  before(async () => {
    folder = await Folder.make()
    const opened = await folder.open({ resources: RELATED, indexFields: INDEXED })
    const many = (count: number, document: (n: number) => Record<string, string | number>) =>
      Array.from({ length: count }, (_, n) => ({ id: `o${n}`, document: document(n) }))
    const project = (n: number) => `o${n % PROJECTS}`
    await opened.seeding.insert(
      'projects',
      many(PROJECTS, (n) => ({ up: `o${Math.floor(n / 3)}`, own: `lead${n}` })),
    )
    await opened.seeding.insert(
      'users',
      many(PROJECTS * 6, (n) => ({ up: project(n), own: n < PROJECTS ? 'boss' : `user${n}`, plain: 'x' })),
    )
    await opened.seeding.insert(
      'tasks',
      many(TASKS, (n) => ({ up: project(n * 7), own: `user${n}`, count: n % 2 })),
    )
    store = opened.store
  })
  after(() => folder.remove())

  const planOf = (text: string) =>
    folder
      .raw()
      .prepare(`explain query plan ${text}`)
      .all()
      .map((step) => step.detail)
      .join('; ')

  async function textsOf(query: Partial<ObjectQuery>, resource = 'tasks'): Promise<readonly string[]> {
    const ids: string[] = []
    const texts = await statementsOf(async () => {
      const rows = await store.list(resource, { where: { kind: 'always' }, limit: 50, ...query })
      ids.push(...rows.map(({ id }) => id))
    })
    const selects = texts.filter((text) => text.startsWith('select'))
    expect(selects.length, 'not compiled before').to.be.greaterThan(0)
    return selects
  }

  it("starts from the caller's memberships, and reads no table through", async () => {
    const texts = await textsOf({ where: member('user600') })
    expect(texts, 'the question whether it finds few, and the list').to.have.length(2)
    for (const plan of texts.map(planOf)) {
      expect(plan).to.match(/SEARCH objects_tasks USING (COVERING )?INDEX objects_tasks f_up/)
      expect(plan).to.match(/SEARCH r1 USING COVERING INDEX sqlite_autoindex_objects_projects_1 \(id=\?\)/)
      expect(plan).to.match(/SEARCH r2 USING (COVERING )?INDEX objects_users f_own/)
      expect(plan).not.to.match(/SCAN (objects|r\d)/)
    }
  })

  it('sorts before it reads documents', async () => {
    const texts = await textsOf({ where: member('user601'), order: byCreation() })
    expect(planOf(texts.at(-1) ?? '')).to.match(/^SEARCH objects_tasks USING INTEGER PRIMARY KEY \(rowid=\?\)/)
  })

  it('lets no index of a filter, of the next page or of a state take over', async () => {
    const filter = [
      { field: 'count', by: 'value', operator: 'in', values: [1] },
      { field: 'createdAt', by: 'time', operator: 'gt', values: ['2000-01-01T00:00:00.000Z'] },
    ] as const
    const mine: Condition = { kind: 'between', field: 'count', atLeast: 1 }
    const queries: Partial<ObjectQuery>[] = [
      { where: member('user602'), filter },
      { where: member('user602'), after: ['o1'] },
      { where: all(mine, member('user602')) },
      { where: member('user602'), order: byCreation(), after: ['2026-01-01T00:00:00.000Z', 'o1'] },
    ]
    for (const query of queries) {
      const plans = (await textsOf(query)).map(planOf).filter((plan) => plan.includes('PRIMARY KEY'))
      expect(plans.length).to.be.greaterThan(0)
      for (const plan of plans) {
        expect(plan).to.match(/SEARCH objects_tasks USING (COVERING )?INDEX objects_tasks f_up/)
        expect(plan).not.to.match(/SCAN|\(f_count|\(created_at/)
      }
    }
  })

  it('starts from both ends where either may hold', async () => {
    const [, list = ''] = await textsOf({ where: some(member('user603'), holds('own', 'user9')) })
    expect(planOf(list)).to.contain('MULTI-INDEX OR').and.contain('(f_up=?)').and.contain('(f_own=?)')
    expect(planOf(list)).not.to.contain('SCAN')
  })

  it('starts from what a climb ends at', async () => {
    const [, list = ''] = await textsOf({ where: climb('lead3') }, 'projects')
    expect(planOf(list)).to.match(/SEARCH r1 USING (COVERING )?INDEX objects_projects f_own/)
    expect(planOf(list)).to.match(/SEARCH r1 USING (COVERING )?INDEX objects_projects f_up/)
    expect(planOf(list)).not.to.match(/SCAN (objects|r\d)/)
  })

  it('takes the objects in their order where the memberships lead to many', async () => {
    const texts = await textsOf({ where: member('boss') })
    expect(texts.at(-1)).to.contain('exists').and.not.contain('rowid in')
    const plan = planOf(texts.at(-1) ?? '')
    expect(plan)
      .to.match(/^SCAN objects_tasks USING INDEX sqlite_autoindex_objects_tasks_1/)
      .and.not.contain('TEMP')
    expect(await store.list('tasks', { where: member('boss'), limit: 50 })).to.have.length(50)
  })

  it('starts from the memberships after all where the order of the list has their objects last', async () => {
    const unlike = await folder.open({ resources: RELATED, indexFields: INDEXED })
    // A hundred projects of `late` have 6,000 tasks; in the order of `count`, 14,000 tasks of others come before.
    const project = (n: number) => `p${n < 14_000 ? 100 + (n % 100) : n % 100}`
    const projects = Array.from({ length: 200 }, (_, n) => ({ id: `p${n}`, document: {} }))
    const members = projects.slice(0, 100).map(({ id }) => ({ id: `m${id}`, document: { up: id, own: 'late' } }))
    const tasks = Array.from({ length: 20_000 }, (_, n) => ({
      id: `late${n}`,
      document: { up: project(n), own: 'x', count: -1 - n },
    }))
    await unlike.seeding.insert('projects', projects)
    await unlike.seeding.insert('users', members)
    await unlike.seeding.insert('tasks', tasks)
    const descending = [
      { field: 'count', by: 'value', descending: true },
      { field: 'id', by: 'value', descending: true },
    ] as const
    // They are more than a sixteenth of the tasks, so they are looked for in the order, and not sorted.
    const dense = planOf((await textsOf({ where: member('late'), order: descending })).at(-1) ?? '')
    expect(dense)
      .to.match(/^SCAN objects_tasks USING INDEX objects_tasks f_count ordered/)
      .and.match(/SEARCH objects_tasks USING (COVERING )?INDEX objects_tasks f_up/)
      .and.not.contain('TEMP B-TREE')
    const listed = await store.list('tasks', { where: member('late'), order: descending, limit: 3 })
    expect(listed.map(({ id }) => id)).to.deep.equal(['late14000', 'late14001', 'late14002'])
    const early = await textsOf({
      where: member('late'),
      order: descending.map((key) => ({ ...key, descending: false })),
    })
    expect(early, 'the other end of the order has them at once').to.have.length(1)
    expect(early[0]).to.contain('exists').and.not.contain('rowid in')
    const further = { where: member('late'), order: descending, after: [-14_003, 'late14002'], limit: 6000 }
    const rest = (await store.list('tasks', further)).map(({ id }) => id)
    expect([rest.length, rest[0], rest.at(-1)]).to.deep.equal([5997, 'late14003', 'late19999'])
    // As if there were a million others.
    folder.raw().exec(`update objects_tasks set rowid = 1000000 where id = 'late0'`)
    const sparse = await textsOf({ where: member('late'), order: descending })
    expect(sparse.at(-1)).to.contain('rowid in').and.not.contain('exists')
    expect((await store.list('tasks', further)).map(({ id }) => id)).to.deep.equal(rest)
    const same = await store.list('tasks', { where: member('late'), order: descending, limit: 3 })
    expect(same.map(({ id }) => id)).to.deep.equal(['late14000', 'late14001', 'late14002'])
  })

  it('counts from the memberships, however many they lead to, unless a filter finds few', async () => {
    const counted = async (caller: string, filter: ObjectQuery['filter']) => {
      let found: unknown
      const texts = await statementsOf(async () => {
        found = await store.count('tasks', { where: member(caller), ...(filter && { filter }) })
      })
      return [found, texts.filter((text) => text.includes('select count(') && !text.includes('limit'))] as const
    }
    const filter = (field: string, ...values: (string | number)[]) =>
      [{ field, by: 'value', operator: 'in', values }] as const
    const [whole, [driven = '']] = await counted('boss', undefined)
    expect(whole).to.deep.equal({ found: TASKS, isExact: true })
    expect(planOf(driven))
      .to.match(/SEARCH objects_tasks USING (COVERING )?INDEX objects_tasks f_up/)
      .and.not.match(/SCAN objects_tasks/)
    const [few, [filtered = '', ...more]] = await counted('boss', filter('own', 'user7', 'user8'))
    expect([few, more]).to.deep.equal([{ found: 2, isExact: true }, []])
    expect(planOf(filtered)).to.match(/SEARCH objects_tasks USING INDEX objects_tasks f_own/)
    const [both, texts] = await counted('boss', filter('count', 0, 1))
    expect([both, texts.length], 'each at first, then driven').to.deep.equal([{ found: TASKS, isExact: true }, 2])
    expect(planOf(texts.at(-1) ?? '')).to.match(/SEARCH objects_tasks USING (COVERING )?INDEX objects_tasks f_up/)
  })

  it('takes another part to start from where the first one leads to many', async () => {
    const texts = await textsOf({ where: all(member('boss'), member('user604')) })
    expect(texts.at(-1)).to.contain('rowid in').and.contain('exists')
  })

  it('takes the objects in their order where nothing names a caller: the searches above are no accident', async () => {
    const texts = await textsOf({ where: memberOf(holds('plain', 'x')) })
    expect(texts).to.have.length(1)
    expect(planOf(texts[0] ?? '')).to.match(/^SCAN objects_tasks/)
  })

  it('asks nothing first where no related object takes part', async () => {
    expect(await textsOf({ where: holds('own', 'user8') })).to.have.length(1)
  })

  it('looks up by indexes, from the values', async () => {
    const where: Condition = { kind: 'related', field: 'id', resource: 'users', by: 'up', where: holds('own', 'user9') }
    const up = { field: 'up', depth: 4 }
    for (const lookup of [
      { resource: 'projects', by: 'id', values: ['o9'], where },
      { resource: 'projects', by: 'id', values: ['o9'], climb: up, where },
    ]) {
      const [text = ''] = await statementsOf(async () => store.lookup(lookup))
      expect(planOf(text))
        .to.match(/SEARCH .* \(id=\?\)/)
        .and.match(/f_(up|own)=\?/)
        .and.not.match(/SCAN (objects|r\d)/)
    }
    const again = await statementsOf(async () =>
      store.lookup({ resource: 'projects', by: 'id', values: ['o8'], where }),
    )
    expect(again, 'compiled once a shape').to.deep.equal([])
  })
})

function byCreation(): NonNullable<ObjectQuery['order']> {
  return [
    { field: 'createdAt', by: 'time', descending: true },
    { field: 'id', by: 'value', descending: true },
  ]
}
