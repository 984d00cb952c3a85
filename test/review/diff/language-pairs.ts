/** Pairs of policies of the second edition about tasks: the same words, and rules that differ a little or a lot. */
import fc from 'fast-check'
import type { PolicyDifference } from '../../../src/analysis/diff/change.ts'
import { comparePolicies } from '../../../src/analysis/diff/compare-policies.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { Resources } from '../../../src/resources/resource.ts'
import { CONDITIONS, VIEWS } from '../../policy/arbitrary-relations.ts'
import { HEALTH } from '../../policy/fixture.ts'
import { LANGUAGE_RESOURCES, ORACLE_RESOURCES } from '../../policy/language-fixture.ts'
import { faultsOf } from '../../policy/oracle/faults.ts'
import { nameOf } from '../../policy/oracle/terms.ts'
import { render } from '../../policy/render.ts'
import type { OraclePolicy, OracleRelation, OracleRule } from '../../policy/world.ts'
import type { PolicyPair } from './policy-pairs.ts'

export const ROLES = ['a', 'b', 'c']

/** Leaves of tasks; some look at one field, so that they exclude or imply one another. */
const LEAVES: Readonly<Record<string, OracleRelation>> = {
  owner: { field: 'ownerId', equals: 'id' },
  team: { field: 'team', equals: 'teams' },
  member: { through: 'projectId', to: 'projects', relation: 'member' },
  invited: { some: 'memberships', where: 'taskIds', relation: 'self' },
  sees: { through: 'folderId', to: 'folders', relation: 'viewer' },
  open: { field: 'status', in: ['open'] },
  active: { field: 'status', in: ['open', 'claimed'] },
  done: { field: 'status', in: ['done'] },
  assigned: { field: 'assigneeId', present: true },
  mine: { field: 'assigneeId', equals: 'id' },
  small: { field: 'total', atMost: 10 },
  large: { field: 'total', atLeast: 5 },
  watched: { field: 'watchers', present: true },
  starred: { field: 'watchers', in: ['u1', 'u2'] },
  due: { field: 'dueAt', before: 'now' },
  made: { field: 'createdAt', after: 'now-1h' },
}

const OTHERS: OraclePolicy['relations'] = new Map<string, ReadonlyMap<string, OracleRelation>>([
  ['projects', new Map([['member', { some: 'memberships', where: 'projectId', relation: 'self' }]])],
  ['memberships', new Map([['self', { field: 'userId', equals: 'id' }]])],
  [
    'folders',
    new Map<string, OracleRelation>([
      ['direct', { field: 'viewers', equals: 'id' }],
      ['inherited', { through: 'parentId', to: 'folders', relation: 'direct', depth: 3 }],
      ['viewer', { any: ['direct', 'inherited'] }],
    ]),
  ],
])

const ACTIONS = ['list', 'read', 'create', 'replace', 'update', 'claim', 'delete', 'options']
const WRITES = ['replace', 'update', 'claim']

type Words = Pick<OraclePolicy, 'relations' | 'conditions'>

/** At most four leaves, two relations that consist of them, and two conditions. */
const randomWords: fc.Arbitrary<Words> = fc
  .record({
    leaves: fc.subarray(Object.keys(LEAVES), { minLength: 1, maxLength: 4 }),
    joins: fc.array(fc.record({ any: fc.boolean(), from: fc.nat(3), to: fc.nat(4) }), { maxLength: 2 }),
    conditions: fc.subarray(
      Object.entries(CONDITIONS).filter(([name]) => ['office', 'fresh', 'strong', 'machine'].includes(name)),
      { maxLength: 2 },
    ),
  })
  .map(({ leaves, joins, conditions }) => {
    const tasks = new Map(leaves.map((name) => [name, LEAVES[name] as OracleRelation]))
    joins.forEach(({ any, from, to }, i) => {
      const names = [...tasks.keys()]
      const parts = [...new Set([names[from % names.length] ?? '', names[to % names.length] ?? ''])]
      tasks.set(`join${i}`, any ? { any: parts } : { all: parts })
    })
    return { relations: new Map([...OTHERS, ['tasks', tasks]]), conditions: new Map(conditions) }
  })

function randomRule({ relations, conditions }: Words): fc.Arbitrary<OracleRule> {
  const names = [...(relations.get('tasks')?.keys() ?? [])]
  const common = {
    subject: fc.constantFrom('everyone', ...ROLES, ...ROLES, 'anonymous', 'user:u1'),
    resource: fc.constantFrom('tasks', 'tasks', '*'),
    relations: terms([...names, ...(conditions?.keys() ?? [])], 3),
    views: fc.constantFrom<readonly string[]>(['*'], ['*'], ['head'], ['claim'], ['text'], ['head', 'text']),
    effect: fc.constantFrom<'allow' | 'deny'>('allow', 'allow', 'deny'),
  }
  const some = (all: readonly string[]) => fc.subarray([...all], { minLength: 1, maxLength: 3 })
  const plain = fc.record({ ...common, actions: fc.oneof(fc.constant(['*']), some(ACTIONS), some(WRITES)) })
  const onHealth = fc.record({
    ...common,
    resource: fc.constantFrom('system/*', 'system/health'),
    relations: terms([...(conditions?.keys() ?? [])], 2),
    views: fc.constant(['*']),
    actions: fc.constantFrom(['*'], ['read'], ['options']),
  })
  return fc.oneof(
    { weight: 4, arbitrary: plain },
    { weight: 4, arbitrary: fc.record({ ...common, actions: some(WRITES), after: terms(names, 2) }) },
    { weight: 1, arbitrary: onHealth },
  )
}

function terms(names: readonly string[], most: number): fc.Arbitrary<readonly string[]> {
  if (names.length === 0) return fc.constant([])
  const term = fc.record({ name: fc.constantFrom(...names), negated: fc.nat(2) })
  return fc
    .uniqueArray(term, { maxLength: most, selector: ({ name }) => name })
    .map((chosen) => chosen.map(({ name, negated }) => (negated === 0 ? `!${name}` : name)))
}

type Edit = (rules: readonly OracleRule[]) => readonly OracleRule[]

const place = fc.nat(30)

function randomEdit(words: Words): fc.Arbitrary<Edit> {
  const onOne = (i: number, edit: (rule: OracleRule) => readonly OracleRule[]): Edit => {
    return (rules) => rules.flatMap((rule, at) => (at === i % rules.length ? edit(rule) : [rule]))
  }
  const flipped = (term: string) => (term.startsWith('!') ? nameOf(term) : `!${term}`)
  return fc.oneof(
    place.map((i) => onOne(i, () => [])),
    place.map((i) => onOne(i, (rule) => [{ ...rule, effect: rule.effect === 'allow' ? 'deny' : 'allow' }])),
    place.map((i) => onOne(i, (rule) => [{ ...rule, relations: rule.relations.slice(1) }])),
    place.map((i) =>
      onOne(i, ({ relations: [first, ...more], ...rule }) => {
        return [{ ...rule, relations: first === undefined ? more : [flipped(first), ...more] }]
      }),
    ),
    place.map((i) => onOne(i, ({ after, ...rule }) => [rule])),
    place.map((i) => onOne(i, ({ after, ...rule }) => [after ? { ...rule, after: after.map(flipped) } : rule])),
    place.map((i) => onOne(i, (rule) => [{ ...rule, views: rule.resource.startsWith('system/') ? ['*'] : ['claim'] }])),
    fc.tuple(place, randomRule(words)).map(([i, other]) => onOne(i, (rule) => [rule, other])),
    fc.tuple(place, randomRule(words)).map(([i, { subject }]) => onOne(i, (rule) => [{ ...rule, subject }])),
    fc.tuple(place, randomRule(words)).map(([i, { relations }]) => onOne(i, (rule) => [{ ...rule, relations }])),
  )
}

const randomLinks = fc.subarray([
  { role: 'a', inherits: 'b' },
  { role: 'b', inherits: 'c' },
])

export const languagePair: fc.Arbitrary<PolicyPair> = fc.tuple(randomWords, randomLinks).chain(([words, links]) => {
  const rules = fc.array(randomRule(words), { minLength: 1, maxLength: 6 })
  const edits = fc.array(randomEdit(words), { minLength: 1, maxLength: 3 })
  const policyOf = (some: readonly OracleRule[]) =>
    withRules({ roles: ROLES, links, rules: [], views: VIEWS, ...words }, some)
  const edited = fc.tuple(rules, edits).map(([some, all]) => {
    const before = policyOf(some)
    return { before, after: policyOf(all.reduce((now, edit) => edit(now), before.rules)) }
  })
  const independent = fc
    .tuple(rules, rules)
    .map(([some, others]) => ({ before: policyOf(some), after: policyOf(others) }))
  return fc.oneof({ weight: 3, arbitrary: edited }, { weight: 1, arbitrary: independent })
})

/** Leaves out the rules that would be faults. */
function withRules(policy: OraclePolicy, rules: readonly OracleRule[]): OraclePolicy {
  const sound: OracleRule[] = []
  for (const rule of rules) {
    const faults = faultsOf({ policy: { ...policy, rules: [...sound, rule] }, resources: ORACLE_RESOURCES })
    if (faults.length === 0) sound.push(rule)
  }
  return { ...policy, rules: sound }
}

const TASKS = LANGUAGE_RESOURCES.byName.get('tasks')
if (!TASKS) throw new Error('there is no resource tasks')

/** The resources that rules of these pairs are about. */
export const COMPARED: Resources = {
  byName: new Map([TASKS, HEALTH].map((one) => [one.name, one])),
  routes: TASKS.routes,
}

export function languageDiff({ before, after }: PolicyPair): readonly PolicyDifference[] {
  return comparePolicies({ before: reviewed(before), after: reviewed(after) }, { resources: COMPARED, now: 0 })
}

function reviewed(data: OraclePolicy) {
  const files = render(data, { lineEnd: '\n', padding: ' ', comments: false })
  return { policy: parsePolicy(files, LANGUAGE_RESOURCES), blocked: new Map() }
}
