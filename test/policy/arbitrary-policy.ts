/** Random policies over the resources of fixture.ts, as data and as the text of their files. */
import fc from 'fast-check'
import type { PolicyFiles } from '../../src/policy/policy-files.ts'
import type { Resource } from '../../src/resources/resource.ts'
import { IDS, ROLES } from './arbitrary.ts'
import { DOCS, HEALTH, JOBS } from './fixture.ts'
import { type Layout, render } from './render.ts'
import type { OraclePolicy, OracleRelation, OracleRule } from './world.ts'

/** A policy as data and as the text of its files. */
export interface WrittenPolicy {
  readonly data: OraclePolicy
  readonly files: PolicyFiles
}

const RELATIONS: Readonly<Record<'docs' | 'jobs', Readonly<Record<string, OracleRelation>>>> = {
  docs: {
    owner: { field: 'ownerId', equals: 'id' },
    member: { field: 'members', equals: 'id' },
    self: { field: 'id', equals: 'id' },
    team: { field: 'team', equals: 'team' },
    level: { field: 'count', equals: 'level' },
    lit: { field: 'open', equals: 'lit' },
    draft: { field: 'status', in: ['draft', ''] },
    few: { field: 'count', in: [0, 1] },
    shut: { field: 'open', in: [false] },
    starred: { field: 'members', in: ['u1'] },
  },
  jobs: {
    owner: { field: 'by', equals: 'id' },
    team: { field: 'team', equals: 'team' },
    draft: { field: 'status', in: ['draft'] },
    mine: { field: 'by', equals: 'id' },
  },
}

const randomLayout = fc.record<Layout>({
  lineEnd: fc.constantFrom('\n', '\r\n'),
  padding: fc.constantFrom('', ' ', '\t'),
  comments: fc.boolean(),
})

const randomRelations = fc.record({
  docs: someOf(RELATIONS.docs, 4),
  jobs: someOf(RELATIONS.jobs, 3),
})

const randomViews = fc.record({
  docs: fc.record({ one: fieldsOf(DOCS), two: fieldsOf(DOCS), three: fieldsOf(DOCS) }, { requiredKeys: [] }),
  jobs: fc.record({ one: fieldsOf(JOBS), four: fieldsOf(JOBS) }, { requiredKeys: [] }),
})

const randomRoles = fc.subarray([...ROLES], { minLength: 1 }).chain((roles) => {
  // A role inherits only from those after it, so there is no cycle.
  const links = roles.flatMap((role, i) => roles.slice(i + 1).map((inherits) => ({ role, inherits })))
  return fc.record({ roles: fc.constant(roles), links: atMost(5, links) })
})

export const randomPolicy = policyOf(randomRule)

/** The moments at which rules of `endingPolicy` end. */
export const ENDS = [0, 1, 1000, 1_800_000_000_000, 1_800_000_000_001].map((after) => Date.UTC(2026, 0) + after)

/** Most of its rules end, at few different moments. */
export const endingPolicy = policyOf((vocabulary) =>
  fc
    .record({ rule: randomRule(vocabulary), until: fc.constantFrom(undefined, ...ENDS) })
    .map(({ rule, until }) => (until === undefined ? rule : { ...rule, until })),
)

/** Around the ends of `endingPolicy`: the moments themselves, the milliseconds beside them, and far from all. */
export const randomTime = fc.constantFrom(...ENDS.flatMap((end) => [end - 1, end, end + 1]), 0, Date.UTC(2200, 0))

/** Mostly about one relation and one view at a time, for few subjects, so that changes are often granted once, or twice. */
export const generousPolicy = policyOf((vocabulary) => {
  const { relations, views } = vocabulary
  const one = (names: readonly string[], otherwise: readonly string[]) =>
    fc.constantFrom(otherwise, ...names.map((name) => [name]))
  const focused: fc.Arbitrary<Partial<OracleRule>> = fc.record({
    subject: fc.constantFrom('everyone', 'user:u1'),
    actions: fc.constantFrom(['*'], ['read'], ['replace', 'update'], ['replace', 'update']),
    relations: one(namesOf([relations.get('docs')]), []),
    views: one(namesOf([views.get('docs')]), ['*']),
    effect: fc.constantFrom('allow', 'allow', 'allow', 'allow', 'deny'),
  })
  const rule = randomRuleOn('docs', [DOCS], vocabulary)
  return fc.oneof(
    { weight: 1, arbitrary: randomRule(vocabulary) },
    { weight: 3, arbitrary: fc.tuple(rule, focused).map(([whole, part]) => ({ ...whole, ...part })) },
  )
})

function policyOf(ruleOf: (vocabulary: Vocabulary) => fc.Arbitrary<OracleRule>): fc.Arbitrary<WrittenPolicy> {
  return fc
    .tuple(randomRoles, randomRelations, randomViews)
    .chain(([{ roles, links }, relations, views]) => {
      const vocabulary = { roles, relations: toMaps(relations), views: toMaps(views) }
      const rules = fc.array(ruleOf(vocabulary), { maxLength: 10 })
      return fc.record({ data: rules.map((some) => ({ ...vocabulary, links, rules: some })), layout: randomLayout })
    })
    .map(({ data, layout }) => ({ data, files: render(data, layout) }))
}

type Vocabulary = Pick<OraclePolicy, 'roles' | 'relations' | 'views'>

function randomRule(vocabulary: Vocabulary): fc.Arbitrary<OracleRule> {
  const on = (pattern: string, ...covered: readonly Resource[]) => randomRuleOn(pattern, covered, vocabulary)
  return fc.oneof(
    { weight: 8, arbitrary: on('docs', DOCS) },
    { weight: 2, arbitrary: on('jobs', JOBS) },
    { weight: 4, arbitrary: on('*', DOCS, JOBS) },
    { weight: 1, arbitrary: on('system/health', HEALTH) },
    { weight: 1, arbitrary: on('system/*', HEALTH) },
  )
}

function randomRuleOn(pattern: string, covered: readonly Resource[], known: Vocabulary): fc.Arbitrary<OracleRule> {
  const actions = namesOf(covered.map((resource) => resource.actions))
  const relations = namesOf(covered.map(({ name }) => known.relations.get(name)))
  const views = namesOf(covered.map(({ name }) => known.views.get(name)))
  return fc.record<OracleRule>({
    subject: fc.constantFrom(...known.roles, ...known.roles, 'everyone', 'anonymous', ...IDS.map((id) => `user:${id}`)),
    resource: fc.constant(pattern),
    actions: oneOrMore(actions, ['*']),
    relations: fc.oneof(fc.constant([]), atMost(3, relations)),
    views: oneOrMore(views, ['*']),
    effect: fc.constantFrom('allow', 'allow', 'allow', 'deny', 'deny'),
  })
}

// ---- Pieces ---------------------------------------------------------------------------------------------------------

function someOf<T>(all: Readonly<Record<string, T>>, maxLength: number): fc.Arbitrary<Readonly<Record<string, T>>> {
  return atMost(maxLength, Object.entries(all)).map((entries) => Object.fromEntries(entries))
}

function atMost<T>(maxLength: number, all: readonly T[], minLength = 0): fc.Arbitrary<readonly T[]> {
  return fc.subarray([...all], { minLength, maxLength: Math.min(maxLength, all.length) })
}

function fieldsOf({ fields }: Resource): fc.Arbitrary<readonly string[]> {
  return fc.subarray([...fields.keys()], { minLength: 1 })
}

function oneOrMore(names: readonly string[], all: readonly string[]): fc.Arbitrary<readonly string[]> {
  const some = names.length === 0 ? [] : [atMost(3, names, 1)]
  return fc.oneof(fc.constant(all), ...some)
}

function namesOf(maps: readonly (ReadonlyMap<string, unknown> | undefined)[]): string[] {
  return [...new Set(maps.flatMap((map) => [...(map?.keys() ?? [])]))]
}

function toMaps<T>(
  tree: Readonly<Record<string, Readonly<Record<string, T>>>>,
): ReadonlyMap<string, ReadonlyMap<string, T>> {
  return new Map(Object.entries(tree).map(([name, branch]) => [name, new Map(Object.entries(branch))]))
}
