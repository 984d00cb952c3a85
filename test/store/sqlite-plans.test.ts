import { constants } from 'node:sqlite'
import { expect } from 'chai'
import type { Condition } from '../../src/decide/conditions/condition.ts'
import type { ObjectQuery, Store } from '../../src/store/contract.ts'
import { stepOfElement } from '../../src/store/sqlite/query/work.ts'
import { STATEMENTS } from '../../src/store/sqlite/statements.ts'
import { all, always, holds, not, some } from './conditions.ts'
import { Folder } from './folder.ts'
import { statementsOf } from './statements.ts'

describe('a list of few objects out of many', () => {
  let folder: Folder
  let store: Store
  before(async () => {
    folder = await Folder.make()
    const opened = await folder.open({ indexFields: new Map([['things', ['department']]]) })
    const documents = Array.from({ length: 3000 }, (_, index) => ({
      ownerId: `owner${index % 300}`,
      department: `department${index % 30}`,
      status: index % 2 === 0 ? 'draft' : 'open',
    }))
    await opened.seeding.insert(
      'things',
      documents.map((document, index) => ({ id: `t${index}`, document })),
    )
    store = opened.store
  })
  after(() => folder.remove())

  /** How the engine says that it finds the objects. */
  async function plan(where: Condition, after?: string): Promise<string> {
    const query = { where, limit: 50, ...(after === undefined ? {} : { after: [after] }) }
    const texts = await statementsOf(() => store.list('things', query))
    expect(texts, 'one statement, not compiled before').to.have.length(1)
    const steps = folder.raw().prepare(`explain query plan ${texts[0]}`).all()
    return steps.map((step) => step.detail).join('; ')
  }

  async function plans(query: Omit<ObjectQuery, 'limit'>): Promise<readonly string[]> {
    const texts = await statementsOf(() => store.list('things', { ...query, limit: 50 }))
    return texts
      .filter((text) => text.startsWith('select'))
      .map((text) => folder.raw().prepare(`explain query plan ${text}`).all())
      .map((steps) => steps.map((step) => step.detail).join('; '))
  }

  const BY_OWNER = /^SEARCH objects_things USING INDEX objects_things f_owner\^Id ordered \(f_owner\^Id=\?/

  it("is an index search for one owner's objects, which come in the order of ids", async () => {
    const one = await plan(holds('ownerId', 'owner1'))
    expect(one).to.match(BY_OWNER).and.not.contain('ORDER BY')
    const next = await plan(holds('ownerId', 'owner1'), 't1')
    expect(next).to.match(BY_OWNER).and.contain('AND id>?').and.not.contain('ORDER BY')
  })

  it('is an index search for the objects of several owners', async () => {
    expect(await plan(some(holds('ownerId', 'owner1'), holds('ownerId', 'owner2')))).to.match(BY_OWNER)
    expect(await plan(holds('ownerId', 'owner1', 'owner2', 'owner3'))).to.match(BY_OWNER)
  })

  it('is one where the filter of a decision is wrapped in more than it needs', async () => {
    const owner = holds('ownerID', 'owner1')
    const wrapped = some(
      { kind: 'never' },
      all({ kind: 'always' }, owner, not({ kind: 'never' })),
      all(owner, holds('price', 'x')),
    )
    const texts = await statementsOf(() => store.list('things', { where: wrapped, limit: 50 }))
    expect(texts).to.have.length(1)
    expect(texts[0]).to.contain('where "objects_things"."f_owner^I^D" in (?) order by')
  })

  it('looks for the few objects of the owner where half of all have the status', async () => {
    expect(await plan(all(holds('status', 'draft'), holds('ownerId', 'owner1')))).to.match(BY_OWNER)
    expect(await plan(all(holds('ownerId', 'owner1'), not(holds('status', 'draft'))))).to.match(BY_OWNER)
  })

  it('uses both indexes where an alternative has one each', async () => {
    const either = await plan(some(holds('ownerId', 'owner1'), holds('department', 'department1')))
    expect(either).to.contain('(f_owner^Id=?)').and.contain('(f_department=?)').and.not.contain('SCAN')
  })

  const sorted = (...keys: readonly string[]) => ({
    order: [...keys, 'id'].map((key) => {
      return { field: key.replace('-', ''), by: 'value', descending: (keys[0] ?? '').startsWith('-') } as const
    }),
  })

  it('sorts by an index, in either direction, and finds the next page in it', async () => {
    const BY_COUNT = 'objects_things f_count ordered'
    const BY_CREATION = 'objects_things created_at ordered'
    for (const [index, key, value] of [
      [BY_COUNT, 'count', 5],
      [BY_COUNT, '-count', 5],
      [BY_CREATION, '-createdAt', '2026-01-01T00:00:00.000Z'],
    ] as const) {
      const [first = ''] = await plans({ where: always, ...sorted(key) })
      expect(first, key).to.equal(`SCAN objects_things USING INDEX ${index}`)
      const next = await plans({ where: always, ...sorted(key), after: [value, 't1'] })
      expect(next.length, 'segments').to.be.greaterThan(1)
      for (const plan of next) {
        expect(plan, key)
          .to.match(new RegExp(`^SEARCH objects_things USING INDEX ${index} `))
          .and.not.contain('ORDER BY')
      }
    }
  })

  it("looks for one owner's objects by index, whatever they are sorted by", async () => {
    for (const key of ['count', '-createdAt', 'due']) {
      for (const plan of await plans({ where: holds('ownerId', 'owner1'), ...sorted(key) })) {
        expect(plan, key).to.match(BY_OWNER)
      }
    }
  })

  it("takes a page of what a relation's field has out of one index, in every order and direction", async () => {
    const where = holds('department', 'department1')
    for (const [key, column, value] of [
      ['count', 'f_count', 5],
      ['-count', 'f_count', 5],
      ['createdAt', 'created_at', '2026-01-01T00:00:00.000Z'],
      ['-createdAt', 'created_at', '2026-01-01T00:00:00.000Z'],
      ['status', 'f_status', 'draft'],
    ] as const) {
      const all = [
        ...(await plans({ where, ...sorted(key) })),
        ...(await plans({ where, ...sorted(key), after: [value, 't1'] })),
      ]
      expect(all.length, 'a first page and the segments after it').to.be.greaterThan(2)
      for (const plan of all) {
        expect(plan, key)
          .to.contain(`USING INDEX objects_things f_department ${column} ordered`)
          .and.not.contain('TEMP')
      }
    }
    const [due = ''] = await plans({
      where,
      order: [
        { field: 'due', by: 'time', descending: true },
        { field: 'id', by: 'value', descending: true },
      ],
    })
    expect(due).to.contain('f_department t_due ordered').and.not.contain('TEMP')
  })

  it('sorts where no relation compares the field: the order above is no accident', async () => {
    const [plan = ''] = await plans({ where: holds('ownerId', 'owner1'), ...sorted('status') })
    expect(plan).to.contain('TEMP B-TREE')
  })

  it('finds a range of times by index', async () => {
    const filter = [{ field: 'due', by: 'time', operator: 'gt', values: ['2026-01-01T00:00:00.000Z'] }] as const
    const [first] = await plans({ where: { kind: 'always' }, filter })
    expect(first).to.match(/^SEARCH objects_things USING INDEX objects_things t_due ordered \(t_due>\? AND t_due<\?\)/)
  })

  it('is a scan without an index: the index search above is no accident', async () => {
    expect(await plan(holds('extra', 'x'))).to.contain('SCAN objects_things')
    const unindexed = await folder.open()
    const texts = await statementsOf(() =>
      unindexed.store.list('things', { where: holds('department', 'a'), limit: 50 }),
    )
    expect(texts[0]).to.contain('json_each')
  })

  it('is compiled once a shape, whatever the values', async () => {
    const query = (owner: string, count: number) => ({
      where: all(holds('ownerId', owner), holds('tags', ...Array.from({ length: count }, (_, index) => `tag${index}`))),
      limit: count,
    })
    await store.list('things', query('a', 5))
    const texts = await statementsOf(async () => {
      for (const count of [5, 6, 7, 8]) await store.list('things', query(`owner${count}`, count))
    })
    expect(texts).to.deep.equal([])
  })

  it('is planned once, whatever its limit', async () => {
    const where = all(holds('ownerId', 'owner2'), holds('status', 'draft'))
    const [text = ''] = await statementsOf(() => store.list('things', { where, limit: 5 }))
    expect(plannings(text)).to.equal(0)
    expect(plannings(text.replace('limit ? + 0', 'limit ?')), 'the control').to.be.greaterThan(0)
  })

  /** How often the engine asks whether it may read something, which it does when it plans. */
  function plannings(text: string): number {
    const database = folder.raw()
    const statement = database.prepare(text)
    let asked = 0
    database.setAuthorizer(() => {
      asked += 1
      return constants.SQLITE_OK
    })
    // A new authorizer is a reason of its own to plan again.
    statement.all(1000, 'owner2', 'draft', 5)
    const before = asked
    for (const limit of [5, 6, 5]) statement.all(limit * 1000, 'owner2', 'draft', limit)
    return asked - before
  }

  it('counts each row that it looks at as a step, also before it knows how many objects there are', async () => {
    const unindexed: Condition = {
      kind: 'related',
      field: 'extra',
      resource: 'things',
      by: 'extra',
      where: holds('status', 'open'),
    }
    const where: Condition = {
      kind: 'related',
      field: 'id',
      resource: 'things',
      by: 'id',
      where: all(holds('id', 't1'), unindexed),
    }
    const texts = await statementsOf(() => store.list('things', { where, limit: 5 }))
    expect(texts.map((text) => text.split(/[ ,]/, 2).join(' '))).to.deep.equal(['select count(*)', 'select id'])
    for (const text of texts) expect(text).to.contain(stepOfElement('w2'))
  })

  it('compiles nothing for a single object', async () => {
    expect(await statementsOf(async () => store.get('things', 't1'))).to.deep.equal([])
  })
})

describe('the statement cache', () => {
  it('keeps what was used last, and no more than its capacity', async () => {
    const folder = await Folder.make()
    const { store } = await folder.open()
    // Each number is a shape of its own: a bit says whether a key is descending.
    const fields = ['ownerId', 'ownerID', 'status', 'count', 'due', 'open', 'code', 'department', 'createdAt', 'id']
    const list = (shape: number) => {
      const order = fields.map((field, i) => ({ field, by: 'value', descending: (shape >> i) % 2 === 1 }) as const)
      return statementsOf(() => store.list('things', { where: { kind: 'always' }, limit: 1, order }))
    }
    for (let shape = 0; shape < STATEMENTS; shape++) expect(await list(shape)).to.have.length(1)
    expect(await list(0), 'kept').to.have.length(0)
    expect(await list(STATEMENTS), 'new').to.have.length(1)
    expect(await list(0), 'used after the others').to.have.length(0)
    expect(await list(1), 'used before all others').to.have.length(1)
    await folder.remove()
  })
})
