/** Pairs of policies that differ a little, a lot, or in their text alone; as data for the oracle and as parsed files. */
import fc from 'fast-check'
import type { PolicyDifference } from '../../../src/analysis/diff/change.ts'
import { comparePolicies } from '../../../src/analysis/diff/compare-policies.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { Resources } from '../../../src/resources/resource.ts'
import { randomPolicy } from '../../policy/arbitrary-policy.ts'
import { DOCS, JOBS, RESOURCES } from '../../policy/fixture.ts'
import { render } from '../../policy/render.ts'
import type { OraclePolicy, OracleRelation, OracleRule } from '../../policy/world.ts'

export interface PolicyPair {
  readonly before: OraclePolicy
  readonly after: OraclePolicy
}

/** Relations that exclude or imply one another, because they compare the same field. */
const OVERLAPPING: Readonly<Record<string, OracleRelation>> = {
  few: { field: 'status', in: ['done', ''] },
  shut: { field: 'members', in: ['u2', 'u3'] },
  starred: { field: 'members', in: ['u1', 'u2'] },
}

type Edit = (policy: OraclePolicy) => OraclePolicy

const place = fc.nat({ max: 30 })

const randomEdit: fc.Arbitrary<Edit> = fc.oneof(
  place.map((i): Edit => editRules((rules) => rules.filter((_, at) => at !== i % rules.length))),
  place.map((i): Edit => editRule(i, (rule) => [rule, rule])),
  place.map((i): Edit => editRule(i, (rule) => [{ ...rule, effect: rule.effect === 'allow' ? 'deny' : 'allow' }])),
  place.map((i): Edit => editRule(i, (rule) => [{ ...rule, relations: [] }])),
  place.map((i): Edit => editRule(i, (rule) => [{ ...rule, views: ['*'] }])),
  place.map((i): Edit => editRule(i, (rule) => rule.actions.map((action) => ({ ...rule, actions: [action] })))),
  fc.constant<Edit>(editRules((rules) => rules.toReversed())),
  fc.tuple(place, place).map(([i, j]): Edit => crossRules(i, j, ({ subject }) => ({ subject }))),
  fc.tuple(place, place).map(([i, j]): Edit => crossRules(i, j, ({ relations }) => ({ relations }))),
  fc.tuple(place, place).map(([i, j]): Edit => crossRules(i, j, ({ views }) => ({ views }))),
  fc.tuple(place, place).map(([i, j]): Edit => crossRules(i, j, ({ actions }) => ({ actions }))),
  place.map(
    (i): Edit =>
      (policy) => ({ ...policy, links: policy.links.filter((_, at) => at !== i % 5) }),
  ),
  place.map(
    (i): Edit =>
      (policy) => ({ ...policy, views: withFieldsReversed(policy.views, i) }),
  ),
)

/** Names mean the same on both sides. */
export const randomPair: fc.Arbitrary<PolicyPair> = fc
  .tuple(fc.oneof(editedPair(), editedPair(), independentPair()), fc.boolean())
  .map(([pair, overlap]) => (overlap ? { before: overlapping(pair.before), after: overlapping(pair.after) } : pair))

/** Some names mean something else afterwards. */
export const redefinedPair: fc.Arbitrary<PolicyPair> = randomPair.map(({ before, after }) => {
  return { before, after: overlapping(after) }
})

export function diffOf({ before, after }: PolicyPair): readonly PolicyDifference[] {
  return comparePolicies({ before: reviewed(before), after: reviewed(after) }, { resources: LISTED, now: 0 })
}

const LISTED: Resources = {
  ...RESOURCES,
  routes: [DOCS, JOBS].map(({ name: resource }) => ({
    path: `/${resource}`,
    resource,
    kind: 'collection',
    endpoints: new Map([['GET', { operation: 'list', action: 'list' }]]),
    allow: 'GET',
  })),
}

function reviewed(data: OraclePolicy) {
  const files = render(data, { lineEnd: '\n', padding: ' ', comments: false })
  return { policy: parsePolicy(files, RESOURCES), blocked: new Map() }
}

function editedPair(): fc.Arbitrary<PolicyPair> {
  return fc.tuple(randomPolicy, fc.array(randomEdit, { maxLength: 3 })).map(([{ data }, edits]) => {
    return { before: data, after: edits.reduce((policy, edit) => edit(policy), data) }
  })
}

function independentPair(): fc.Arbitrary<PolicyPair> {
  return fc.tuple(randomPolicy, randomPolicy).map(([before, after]) => ({ before: before.data, after: after.data }))
}

function editRules(edit: (rules: readonly OracleRule[]) => readonly OracleRule[]): Edit {
  return (policy) => ({ ...policy, rules: edit(policy.rules) })
}

function editRule(i: number, edit: (rule: OracleRule) => readonly OracleRule[]): Edit {
  return editRules((rules) => rules.flatMap((rule, at) => (at === i % rules.length ? edit(rule) : [rule])))
}

/** A rule gets a cell of another about the same resource. */
function crossRules(i: number, j: number, cell: (rule: OracleRule) => Partial<OracleRule>): Edit {
  return (policy) => {
    const other = policy.rules[j % policy.rules.length]
    const taking = (rule: OracleRule) =>
      other && other.resource === rule.resource ? { ...rule, ...cell(other) } : rule
    return editRule(i, (rule) => [taking(rule)])(policy)
  }
}

function withFieldsReversed(views: OraclePolicy['views'], i: number): OraclePolicy['views'] {
  return new Map(
    [...views].map(([resource, named]) => [
      resource,
      new Map([...named].map(([view, fields], at) => [view, at === i % 3 ? fields.slice(0, 1) : fields.toReversed()])),
    ]),
  )
}

function overlapping(policy: OraclePolicy): OraclePolicy {
  const docs = new Map(policy.relations.get('docs'))
  for (const [name, relation] of Object.entries(OVERLAPPING)) if (docs.has(name)) docs.set(name, relation)
  return { ...policy, relations: new Map([...policy.relations, ['docs', docs]]) }
}
