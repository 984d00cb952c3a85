/** However many sets of roles are told, a bounded number of them is kept, with their tables and cells. */
import { expect } from 'chai'
import { CellBudget, KeptConditions } from '../../src/decide/grants/grant-table.ts'
import { Subjects } from '../../src/decide/grants/subjects.ts'
import { snapshotOf } from './product.ts'
import { filesOf } from './render.ts'

const ROLES = Array.from({ length: 13 }, (_, i) => `r${i}`)
const DECLARED = new Map(ROLES.map((name) => [name, { name, description: '', claims: [] }]))

/** The set of roles with this number. */
function callerOf(set: number) {
  return { id: `u${set}`, roles: ROLES.filter((_, i) => (set >> i) % 2 === 1), claims: {} }
}

function subjectsOf(): Subjects {
  return new Subjects({ roles: DECLARED, links: [], roleGuarantees: [] } as never, {
    names: (name) => ROLES.includes(name),
    subjects: ROLES,
  })
}

describe('the sets of names that callers have', () => {
  it('are kept while they are asked for, and the oldest are forgotten beyond two thousand', () => {
    const subjects = subjectsOf()
    const first = subjects.of(callerOf(1)).tables
    expect(subjects.of(callerOf(1)).tables, 'kept').to.equal(first)
    for (let set = 2; set < 5000; set++) {
      subjects.of(callerOf(set))
      subjects.of(callerOf(4097))
    }
    expect(subjects.known).to.have.length(2000)
    expect(subjects.of(callerOf(1)).tables, 'forgotten').not.to.equal(first)
  })

  it('give back the cells of their tables when they are forgotten', async () => {
    const budget = new CellBudget()
    const subjects = subjectsOf()
    const keepers = Array.from({ length: 3000 }, (_, set) => {
      const { tables } = subjects.of(callerOf(set + 1))
      const keeper = { forgetCells: () => {}, release: () => budget.leave(keeper, 2) }
      tables.set('docs', new Map([['read', keeper as never]]))
      budget.take(keeper)
      budget.take(keeper)
      return keeper
    })
    expect(keepers).to.have.length(3000)
    expect(budget.taken).to.equal(4000)
  })

  it('decide the same again after they were forgotten', async () => {
    const policy = snapshotOf(
      filesOf({
        'policy.csv': 'p, r3, docs, read, any, *, allow',
        'roles.yaml': ROLES.map((name) => `${name}: { description: A role. }\n`).join(''),
      }),
    )
    const reads = async (set: number) =>
      (await policy.table(policy.subjectOf(callerOf(set)), 'docs', 'read')).grant([]).fields.size > 0
    for (const set of [8, 7, 9, 4, 8, 7]) expect(await reads(set)).to.equal((set & 8) > 0)
  })
})

describe('the conditions of lists', () => {
  const never = () => ({ kind: 'never' }) as const

  it('are kept while they are asked for, and have a bound for all tables together', () => {
    const kept = new KeptConditions()
    const tables = Array.from({ length: 100 }, () => kept.ofTable())
    const first = tables[0]?.('alice', never)
    for (let caller = 0; caller < 1000; caller += 1) {
      for (const table of tables) table(`${caller}`, never)
      expect(tables[0]?.('alice', never), 'the same').to.equal(first)
    }
    expect(kept.size).to.be.within(7_900_000, 8_000_000)
    expect(tables[1]?.('alice', never), 'of another table').not.to.equal(first)
  })

  it('are not kept for callers whose told values are long', () => {
    const kept = new KeptConditions()
    const table = kept.ofTable()
    for (let n = 0; n < 100; n += 1) table(`${n}`.padEnd(90_000, 'x'), never)
    expect(kept.size).to.equal(0)
  })
})
