/** A rule is said to have no effect exactly when it has none: the oracle grants the same to everybody without it. */
import { expect } from 'chai'
import fc from 'fast-check'
import { ActionRulesIndex } from '../../../src/analysis/rule-index.ts'
import type { Policy } from '../../../src/decide/policy.ts'
import { roleGuaranteesOf, rolesLost } from '../../../src/decide/role-guarantees.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { findWithoutEffect } from '../../../src/tools/check/reach/without-effect.ts'
import { IDS, ROLES } from '../../policy/arbitrary.ts'
import { ENDS, endingPolicy, generousPolicy, randomPolicy, type WrittenPolicy } from '../../policy/arbitrary-policy.ts'
import { grantedIn } from '../../policy/expected-cells.ts'
import { asOracle, RESOURCES } from '../../policy/fixture.ts'
import { subsets } from '../../policy/oracle.ts'
import { render } from '../../policy/render.ts'
import type { OracleCaller, OraclePolicy, OracleRule } from '../../policy/world.ts'
import { runs } from '../../runs.ts'

const written = fc.oneof(randomPolicy, generousPolicy)

/** What was found about the rules of a policy, by their positions in it. */
interface Found {
  readonly policy: OraclePolicy
  readonly redundant: ReadonlySet<OracleRule>
  /** Rules that can't match at all: not the matter of what is tested here. */
  readonly unmatched: ReadonlySet<OracleRule>
}

describe('a rule that is said to have no effect', () => {
  it('has none: without it, and without all of them, everybody is granted the same', () => {
    holds(({ policy, redundant, unmatched }) => {
      const before = table(policy)
      for (const rule of [...redundant, ...unmatched]) expect(table(without(policy, [rule]))).to.equal(before)
      expect(table(without(policy, [...redundant]))).to.equal(before)
    })
  })

  it('is every rule that has none: each other one changes something beside those that are left', () => {
    holds(({ policy, redundant, unmatched }) => {
      const idleDenies = [...redundant].filter(({ effect }) => effect === 'deny')
      for (const rule of policy.rules.filter((one) => !redundant.has(one) && !unmatched.has(one))) {
        // What lies under a deny is what the deny has its effect on.
        const beside = without(policy, rule.effect === 'deny' ? idleDenies : [...redundant])
        expect(table(without(beside, [rule]))).not.to.equal(table(beside))
      }
    })
  })

  it('is found where a guarantee keeps two roles apart: nobody has both', () => {
    let more = 0
    const pairs = fc.shuffledSubarray([...ROLES], { minLength: 2, maxLength: 2 })
    const apart = fc.property(written, pairs, ({ data: drawn }, roles) => {
      const rules = drawn.rules.map((rule, i) => ({ ...rule, subject: roles[i % 2] ?? 'a' }))
      const data = { ...drawn, roles: [...ROLES], rules }
      const one = { data, files: render(data, { lineEnd: '\n', padding: '', comments: false }) }
      const policy = parsePolicy(one.files, RESOURCES)
      const kept = { kind: 'roles-apart', name: 'apart', roles, place: { file: '', line: 1, column: 1 } } as const
      const guarantees = roleGuaranteesOf({ ...policy, roleGuarantees: [kept] }).apart
      // A role that gives both is an error of the policy.
      fc.pre(ROLES.every((role) => rolesLost(guarantees, [role]).length === 0))
      const callers = CALLERS.filter((someone) => rolesLost(guarantees, someone.roles).length === 0)
      const { redundant } = findIn(one, [kept])
      more += redundant.size - findIn(one).redundant.size
      expect(table(without(one.data, [...redundant]), 0, callers)).to.equal(table(one.data, 0, callers))
    })
    fc.assert(apart, { numRuns: runs(300, 100) })
    expect(more).to.be.above(0)
  })

  it('is found in the random policies, of every kind', () => {
    const kinds = fc.sample(written, { numRuns: 300, seed: 1 }).flatMap(({ files }) => {
      const policy = parsePolicy(files, RESOURCES)
      return findWithoutEffect(new ActionRulesIndex(policy, RESOURCES), policy.rules)
    })
    for (const kind of ['covered', 'under-deny', 'nothing-to-deny']) {
      expect(kinds.filter((redundant) => redundant.kind === kind).length, kind).to.be.greaterThan(10)
    }
    expect(
      kinds.filter((redundant) => redundant.kind !== 'nothing-to-deny' && redundant.by.length === 0),
    ).to.deep.equal([])
  })

  it('has none at any time, where rules end', () => {
    let found = 0
    const ending = fc.property(endingPolicy, (one) => {
      const { policy, redundant } = findIn(one)
      found += [...redundant].filter(({ until }) => until !== undefined).length
      for (const now of [0, ...ENDS]) expect(table(without(policy, [...redundant]), now)).to.equal(table(policy, now))
    })
    fc.assert(ending, { numRuns: 60 })
    expect(found).to.be.greaterThan(10)
  })

  it('has none when it ends: looking at the beginning alone would be found out', () => {
    const beginning = fc.property(endingPolicy, ({ data }) => {
      const forever = { ...data, rules: data.rules.map(({ until, ...rule }) => rule) }
      const { redundant } = findIn({
        data: forever,
        files: render(forever, { lineEnd: '\n', padding: '', comments: false }),
      })
      const left = { ...data, rules: data.rules.filter((_, i) => !redundant.has(forever.rules[i] as OracleRule)) }
      for (const now of [0, ...ENDS]) expect(table(left, now)).to.equal(table(data, now))
    })
    expect(fc.check(beginning, { seed: 1, numRuns: 1000, endOnFailure: true }).failed).to.equal(true)
  })

  it('a rule with an effect that was taken for one without would be found', () => {
    const taken = fc.check(
      fc.property(written, (one) => {
        const { policy, redundant, unmatched } = findIn(one)
        const wrong = policy.rules.filter((rule) => !redundant.has(rule) && !unmatched.has(rule)).slice(0, 1)
        expect(table(without(policy, wrong))).to.equal(table(policy))
      }),
      { endOnFailure: true },
    )
    expect(taken.failed).to.equal(true)
  })
})

function holds(property: (found: Found) => void): void {
  fc.assert(
    fc.property(written, (one) => property(findIn(one))),
    { numRuns: runs(100) },
  )
}

function findIn({ data, files }: WrittenPolicy, roleGuarantees: Policy['roleGuarantees'] = []): Found {
  const policy = { ...parsePolicy(files, RESOURCES), roleGuarantees }
  const index = new ActionRulesIndex(policy, RESOURCES)
  // A rule and its data stand in the same position.
  const dataOf = new Map(policy.rules.map((rule, i) => [rule, data.rules[i] as OracleRule]))
  const unmatched = policy.rules.filter((rule) => index.placesOf(rule).length === 0)
  const redundant = findWithoutEffect(index, policy.rules).map(({ rule }) => rule)
  const asData = (rules: typeof redundant) => new Set(rules.flatMap((rule) => dataOf.get(rule) ?? []))
  return { policy: data, redundant: asData(redundant), unmatched: asData(unmatched) }
}

function without(policy: OraclePolicy, rules: readonly OracleRule[]): OraclePolicy {
  return { ...policy, rules: policy.rules.filter((rule) => !rules.includes(rule)) }
}

// ---- All that is granted --------------------------------------------------------------------------------------------

/** Callers with one subject, and with two: granted = some allow and no deny, so a third one shows nothing new. */
const CALLERS: readonly OracleCaller[] = [
  { roles: [], claims: {} },
  ...[...IDS, 'nobody-in-particular'].flatMap((id) =>
    [[], ...ROLES.map((role) => [role])].map((roles) => caller(id, roles)),
  ),
  ...ROLES.flatMap((one, i) => ROLES.slice(i + 1).map((other) => caller('nobody-in-particular', [one, other]))),
]

function caller(id: string, roles: readonly string[]): OracleCaller {
  return { id, roles, claims: {} }
}

/** What every caller is granted for every resource, action and set of relations, as text. */
function table(policy: OraclePolicy, now = 0, callers: readonly OracleCaller[] = CALLERS): string {
  const rows = [...RESOURCES.byName.values()].flatMap((one) => {
    const resource = asOracle(one)
    const relations = [...(policy.relations.get(one.name)?.keys() ?? [])]
    return callers.flatMap((someone) =>
      [...one.actions.keys()].flatMap((action) =>
        // OPTIONS concerns no object.
        (action === 'options' ? [new Set<string>()] : subsets(relations)).map((set) =>
          [...grantedIn({ policy, resource, caller: someone, now }, action, set)].join(),
        ),
      ),
    )
  })
  return rows.join('\n')
}
