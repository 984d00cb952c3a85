/** Random policies whose relations cross objects: lines that allow writes, and lines that allow more by what is written. */
import fc from 'fast-check'
import { languagePolicy, terms, withRules } from '../../policy/arbitrary-language.ts'
import { VIEWS } from '../../policy/arbitrary-relations.ts'
import { STORED } from '../../policy/language-fixture.ts'
import type { OraclePolicy, OracleRelation, OracleRule } from '../../policy/world.ts'

const RELATIONS: Readonly<Record<string, Readonly<Record<string, OracleRelation>>>> = {
  tasks: {
    owner: { field: 'ownerId', equals: 'id' },
    open: { field: 'status', in: ['open'] },
    team: { field: 'team', equals: 'teams' },
    member: { through: 'projectId', to: 'projects', relation: 'member' },
    lead: { through: 'projectId', to: 'projects', relation: 'lead' },
    invited: { some: 'memberships', where: 'taskIds', relation: 'self' },
    either: { any: ['owner', 'member'] },
  },
  projects: {
    lead: { field: 'leadId', equals: 'id' },
    open: { field: 'state', in: ['open'] },
    member: { some: 'memberships', where: 'projectId', relation: 'self' },
    editor: { some: 'memberships', where: 'projectId', relation: 'editor' },
  },
  memberships: {
    self: { field: 'userId', equals: 'id' },
    editing: { field: 'role', in: ['editor'] },
    editor: { all: ['self', 'editing'] },
    lead: { through: 'projectId', to: 'projects', relation: 'lead' },
  },
  folders: {
    direct: { field: 'viewers', equals: 'id' },
    inherited: { through: 'parentId', to: 'folders', relation: 'direct', depth: 1 },
  },
  users: { self: { field: 'id', equals: 'id' } },
}

/** Without a line. */
export const CROSSING_RELATIONS: OraclePolicy = {
  roles: ['a', 'b', 'c'],
  links: [],
  relations: new Map(Object.entries(RELATIONS).map(([name, some]) => [name, new Map(Object.entries(some))])),
  views: VIEWS,
  rules: [],
}

const CROSSING: Readonly<Record<string, readonly string[]>> = {
  tasks: ['team', 'member', 'lead', 'invited', 'either'],
  projects: ['member', 'editor'],
  memberships: ['lead'],
  folders: ['inherited'],
}

function ruleOf(
  resource: string,
  effect: 'allow' | 'deny',
  more: Pick<OracleRule, 'subject' | 'actions' | 'relations'>,
): OracleRule {
  return { resource, views: ['*'], effect, ...more }
}

const subject = fc.constantFrom('everyone', 'a', 'b', 'c')

const writing = fc.constantFrom(...STORED).chain(({ name }) => {
  const writes = fc.subarray(['create', 'update', 'replace', 'delete'], { minLength: 1, maxLength: 2 })
  return fc
    .record({ subject, actions: writes, relations: terms(Object.keys(RELATIONS[name] ?? {}), 1) })
    .map((more) => ruleOf(name, 'allow', more))
})

const gaining = fc.constantFrom(...Object.keys(CROSSING)).chain((name) => {
  const term = fc.tuple(fc.constantFrom(...(CROSSING[name] ?? [])), fc.boolean())
  const relations = term.map(([one, negated]) => [negated ? `!${one}` : one])
  const actions = fc.constantFrom(['read'], ['update', 'delete'])
  const allow = fc.oneof(relations, terms(Object.keys(RELATIONS[name] ?? {}), 2))
  return fc
    .record({ subject, other: subject, actions, allow, deny: fc.option(relations, { freq: 2 }) })
    .map(({ subject: who, other, actions: asked, allow: some, deny }) => [
      ruleOf(name, 'allow', { subject: who, actions: asked, relations: some }),
      ...(deny ? [ruleOf(name, 'deny', { subject: other, actions: asked, relations: deny })] : []),
    ])
})

/** Some of whose lines let callers give themselves more. */
export const crossingPolicy: fc.Arbitrary<OraclePolicy> = fc
  .tuple(fc.array(writing, { minLength: 3, maxLength: 4 }), fc.array(gaining, { minLength: 3, maxLength: 4 }))
  .map(([writes, gains]) => withRules(CROSSING_RELATIONS, [...writes, ...gains.flat()]))

export const anyPolicy: fc.Arbitrary<OraclePolicy> = fc.constantFrom(...STORED).chain(languagePolicy)

// ---- Writes beyond reads --------------------------------------------------------------------------------------------

const WALLED: OraclePolicy = { ...CROSSING_RELATIONS, conditions: new Map([['machine', { credential: ['api-key'] }]]) }

const anybody = fc.constantFrom('everyone', 'a', 'b', 'c', 'user:u1', 'anonymous')

function walledRule(name: string, effect: 'allow' | 'deny', actions: readonly string[], most: number) {
  const relations = Object.keys(RELATIONS[name] ?? {})
  const views = [...(VIEWS.get(name)?.keys() ?? [])]
  const isChange = actions.includes('update')
  const rule = {
    subject: anybody,
    relations: terms([...relations, 'machine'], most),
    // A result that a line is about, without the fields that lead to it.
    after: isChange ? fc.option(terms(relations, 1), { freq: 2, nil: undefined }) : fc.constant(undefined),
    views: fc.oneof(fc.constant(['*']), views.length > 0 ? fc.subarray(views, { minLength: 1 }) : fc.constant(['*'])),
    action: fc.constantFrom(...actions),
  }
  return fc.record(rule).map(({ after, action, ...more }): OracleRule => {
    const withFields = action === 'delete' ? { ...more, views: ['*'] } : more
    const isResult = action === 'update' || action === 'replace'
    return { ...withFields, resource: name, effect, actions: [action], ...(after && isResult && { after }) }
  })
}

/** Whose lines let many write what they, or others with one more role, can't read. */
export const unreadPolicy: fc.Arbitrary<OraclePolicy> = fc.constantFrom(...Object.keys(RELATIONS)).chain((name) => {
  const writes = ['update', 'replace', 'delete']
  return fc
    .tuple(
      fc.array(walledRule(name, 'allow', writes, 2), { minLength: 2, maxLength: 4 }),
      fc.array(walledRule(name, 'allow', ['read'], 1), { minLength: 1, maxLength: 3 }),
      fc.array(walledRule(name, 'deny', ['read'], 1), { maxLength: 2 }),
      fc.array(walledRule(name, 'deny', writes, 1), { maxLength: 1 }),
      fc.subarray([{ role: 'a', inherits: 'b' }]),
    )
    .map(([first, second, third, fourth, links]) =>
      withRules({ ...WALLED, links }, [...first, ...second, ...third, ...fourth]),
    )
})
