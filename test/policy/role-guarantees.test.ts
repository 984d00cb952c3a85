/** Whoever has roles that a guarantee keeps apart has none of them, for any inheritance and any roles. */
import { expect } from 'chai'
import fc from 'fast-check'
import { columnOfRoles } from '../../src/decide/callers-and-routes.ts'
import { Subjects } from '../../src/decide/grants/subjects.ts'
import type { Policy } from '../../src/decide/policy.ts'
import { boundsOf, brokenApart, roleGuaranteesOf } from '../../src/decide/role-guarantees.ts'
import { runs } from '../runs.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']
const roles = new Map(
  NAMES.map((name) => [name, { name, description: '', privileged: false, claims: [] as readonly string[] }]),
)

/** A role inherits only roles after it, so there is no circle. */
const randomLinks = fc
  .subarray(NAMES.flatMap((role, i) => NAMES.slice(i + 1).map((inherits) => ({ line: 1, role, inherits }))))
  .map((links) => links.filter((_, i) => i % 2 === 0))
const randomRoles = fc.subarray(NAMES)
const randomWorld = fc.record({
  links: randomLinks,
  apart: fc.subarray(NAMES, { minLength: 2, maxLength: 3 }),
  role: fc.constantFrom(...NAMES),
  held: randomRoles,
  before: randomRoles,
  record: fc.option(randomRoles, { nil: undefined }),
})

describe('guarantees about people', () => {
  const place = { file: 'guarantees.yaml', line: 1, column: 1 }

  it('hold for callers and writes as a search through the inheritance says', () => {
    let [lost, refused] = [0, 0]
    fc.assert(
      fc.property(randomWorld, ({ links, apart, role, held, before, record }) => {
        const closure = (some: readonly string[]): ReadonlySet<string> => {
          const more = links.filter((link) => some.includes(link.role)).map(({ inherits }) => inherits)
          const all = new Set([...some, ...more])
          return all.size === new Set(some).size ? all : closure([...all])
        }
        const kept = [
          { kind: 'roles-apart', name: 'apart', place, roles: apart } as const,
          { kind: 'at-most', name: 'few', place, role, people: 1 } as const,
        ]
        const policy = { roles, links, roleGuarantees: kept }
        const among = (some: readonly string[]) => apart.filter((one) => closure(some).has(one))
        const caller = { id: 'x', roles: held, claims: {}, recordRoles: record }
        const subject = new Subjects(policy, { names: () => true, subjects: [] }).of(caller)
        const isBroken = among([...held, ...(record ?? [])]).length > 1
        const left = held.filter((one) => !isBroken || among([one]).length === 0)
        expect([...subject.roles].toSorted()).to.deep.equal([...closure(left)].toSorted())
        expect(subject.lost !== undefined).to.equal(isBroken)
        // A column of a matrix is a caller without a users record. A single role that gives two of them is an error.
        if (held.length > 1) {
          const column = columnOfRoles(policy as unknown as Policy, held)
          const alike = new Subjects(policy, { names: () => true, subjects: [] }).of({
            id: 'y',
            roles: held,
            claims: {},
          })
          expect([...column.subjects].toSorted()).to.deep.equal(['everyone', ...alike.roles].toSorted())
        }
        lost += Number(isBroken)
        const { apart: asked, atMost } = roleGuaranteesOf(policy)
        const broken = brokenApart(asked, { roles: held }, { roles: before })
        const gives = among(held).some((one) => !among(before).includes(one))
        expect(broken?.roles).to.deep.equal(among(held).length > 1 && gives ? among(held) : undefined)
        refused += Number(broken !== undefined)
        const counts = closure(held).has(role) && !closure(before).has(role)
        expect(boundsOf(atMost, { roles: held }, { roles: before }).length).to.equal(Number(counts))
      }),
      { numRuns: runs(2000) },
    )
    expect(lost).to.be.greaterThan(10)
    expect(refused).to.be.greaterThan(5)
  })
})
