/** Files that say the same in other words are equivalent. */
import { expect } from 'chai'
import fc from 'fast-check'
import { randomPolicy } from '../../policy/arbitrary-policy.ts'
import type { OraclePolicy } from '../../policy/world.ts'
import { runs } from '../../runs.ts'
import { diffOf } from './policy-pairs.ts'

/** Each says the same as before. */
const REWRITES: Readonly<Record<string, (policy: OraclePolicy) => OraclePolicy>> = {
  'rules in another order': (policy) => ({ ...policy, rules: policy.rules.toReversed() }),
  'rules twice': (policy) => ({ ...policy, rules: [...policy.rules, ...policy.rules] }),
  'one line for each action': (policy) => ({
    ...policy,
    rules: policy.rules.flatMap((rule) => rule.actions.map((action) => ({ ...rule, actions: [action] }))),
  }),
  // A list may be filtered by what each line grants, so that there it makes a difference (queries.test.ts).
  'one line for each view, of what is no list': (policy) => ({
    ...policy,
    rules: policy.rules.flatMap((rule) =>
      rule.actions.some((action) => action === 'list' || action === '*')
        ? [rule]
        : rule.views.map((view) => ({ ...rule, views: [view] })),
    ),
  }),
  'other names for relations': (policy) => renamed(policy, (name) => `${name}Too`),
  'a role that inherits what it inherits already': (policy) => ({
    ...policy,
    links: [...policy.links, ...policy.links],
  }),
}

describe('a policy diff is empty', () => {
  for (const [how, rewrite] of Object.entries(REWRITES)) {
    it(`for ${how}`, () => {
      fc.assert(
        fc.property(randomPolicy, ({ data }) => {
          expect(diffOf({ before: data, after: rewrite(data) })).to.deep.equal([])
        }),
        { numRuns: runs(100) },
      )
    })
  }

  it('not for a rule less', () => {
    const property = fc.property(randomPolicy, ({ data }) => {
      expect(diffOf({ before: data, after: { ...data, rules: data.rules.slice(1) } })).to.deep.equal([])
    })
    expect(fc.check(property, { seed: 1, numRuns: 300, endOnFailure: true }).failed).to.equal(true)
  })
})

/** But `owner`, whose name says where the creator of an object stands. */
function renamed(policy: OraclePolicy, rename: (name: string) => string): OraclePolicy {
  const named = (name: string) => (name === 'owner' ? name : rename(name))
  return {
    ...policy,
    relations: new Map(
      [...policy.relations].map(([resource, relations]) => [
        resource,
        new Map([...relations].map(([name, relation]) => [named(name), relation])),
      ]),
    ),
    rules: policy.rules.map((rule) => ({ ...rule, relations: rule.relations.map(named) })),
  }
}
