/**
 * The server's whole decision, with relations that follow memberships, grants and folders. Stored objects are in memory,
 * by index, as they are in a database; the server asks SQLite or PostgreSQL for them.
 */

import { casbinPolicy } from '../../../src/decide/casbin/casbin.ts'
import { MODEL } from '../../../src/decide/casbin/model.ts'
import { type Lookup, meets } from '../../../src/decide/conditions/condition.ts'
import { decide } from '../../../src/decide/decide.ts'
import { type FactsAtHand, withFacts } from '../../../src/decide/facts.ts'
import { isRefusal } from '../../../src/decide/refusal.ts'
import { packPolicy } from '../../../src/decide/rules/rule-table.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../../src/policy/policy-files.ts'
import { parseResources } from '../../../src/resources/load/load-resources.ts'
import type { Representation } from '../../../src/resources/resource.ts'
import { ACTIONS, type Scenario, type ScenarioEngine, type ScenarioWorld } from './scenario.ts'

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  things: ['ownerId', 'parentId', 'visibility'],
  parents: ['ownerId', 'parentId'],
  grants: ['onId', 'userId', 'groupId', 'level'],
  groups: ['memberIds'],
}
const TIME = '2026-01-01T00:00:00.000Z'

export async function setUpSallyportScenario(world: ScenarioWorld): Promise<ScenarioEngine> {
  const resources = parseResources(
    Object.entries(FIELDS).map(([name, fields]) => ({
      name: `${name}.json`,
      text: JSON.stringify(schemaOf(name, fields)),
    })),
  )
  const policy = casbinPolicy(packPolicy(parsePolicy(filesOf(world.scenario), resources)), resources)
  const things = resources.byName.get('things')
  if (!things) throw new Error('the resource is missing')
  const subjects = new Map(
    [...world.groupsOf.keys()].map((id) => [
      id,
      policy.subjectOf({ id, roles: ['member'], claims: {}, credential: 'password' }),
    ]),
  )
  const route = { path: '/', resource: 'things', kind: 'item', endpoints: new Map(), allow: '' } as const
  const facts = factsIn(world)
  const questionOf = (user: string, id: string, action: (typeof ACTIONS)[number]) => {
    const subject = subjects.get(user)
    if (!subject) throw new Error(`nobody is called ${user}`)
    return {
      ...{ route, endpoint: { operation: action, action }, resource: things, subject, blocked: false, id },
      ...{ now: 0, address: '127.0.0.1' },
    }
  }
  // What a start loads: the table of each action.
  for (const user of [...subjects.keys()].slice(0, 1)) {
    for (const action of ACTIONS) await withFacts(decide(questionOf(user, 'thing0', action), policy), facts)
  }
  return {
    decide: ({ user, thing, action }) => {
      const found = withFacts(decide(questionOf(user, thing, action), policy), facts)
      if (found instanceof Promise) throw new Error('a table was not loaded')
      return !isRefusal(found)
    },
  }
}

function factsIn({ nodes, grants, groupsOf }: ScenarioWorld): FactsAtHand {
  const objects: Readonly<Record<string, readonly Representation[]>> = {
    things: [...nodes.values()].filter(({ kind }) => kind === 'thing').map(documentOf),
    parents: [...nodes.values()].filter(({ kind }) => kind === 'parent').map(documentOf),
    grants: grants.map(({ onId, holder, level }, i) => ({
      ...{ id: `grant${i}`, onId, level },
      ...(holder.startsWith('user') ? { userId: holder } : { groupId: holder }),
    })),
    groups: [...new Set([...groupsOf.values()].flat())].map((id) => ({
      id,
      memberIds: [...groupsOf].flatMap(([user, groups]) => (groups.includes(id) ? [user] : [])),
    })),
  }
  const indexes = new Map<string, Map<unknown, Representation[]>>()
  const indexOf = (resource: string, field: string) =>
    indexes.getOrInsertComputed(`${resource} ${field}`, () => {
      const index = new Map<unknown, Representation[]>()
      for (const one of objects[resource] ?? []) index.getOrInsertComputed(one[field], () => []).push(one)
      return index
    })
  const lookup = ({ resource, by, values, climb, where }: Lookup): boolean => {
    let found = values.flatMap((value) => indexOf(resource, by).get(value) ?? [])
    for (let left = climb?.depth ?? 1; left > 0 && found.length > 0; left -= 1) {
      if (found.some((one) => meets(where, one, lookup))) return true
      found = climb && left > 1 ? found.flatMap((one) => indexOf(resource, 'id').get(one[climb.field]) ?? []) : []
    }
    return false
  }
  return {
    user: () => undefined,
    object: (resource, id) => {
      const [found] = indexOf(resource, 'id').get(id) ?? []
      if (!found) return undefined
      const { id: _, ...document } = found
      return { id, version: 1, createdAt: TIME, updatedAt: TIME, document }
    },
    lookup,
  }
}

function documentOf({
  id,
  ownerId,
  parentId,
  isPublic,
}: {
  readonly id: string
  readonly ownerId: string
  readonly parentId?: string
  readonly isPublic: boolean
}): Representation {
  return { id, ownerId, visibility: isPublic ? 'public' : 'private', ...(parentId !== undefined && { parentId }) }
}

function schemaOf(name: string, fields: readonly string[]): object {
  const text = { type: 'string', minLength: 1, maxLength: 128, 'x-index': true }
  const time = { type: 'string', format: 'date-time', readOnly: true }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: name,
    type: 'object',
    'x-resource': {
      routes: [
        { path: `/api/${name}`, methods: ['GET', 'POST'] },
        { path: `/api/${name}/{id}`, methods: ['GET', 'PATCH', 'DELETE'] },
      ],
    },
    properties: {
      id: { type: 'string', format: 'uuid', readOnly: true },
      ...Object.fromEntries(
        fields.map((field) => [field, field === 'memberIds' ? { type: 'array', items: { type: 'string' } } : text]),
      ),
      createdAt: time,
      updatedAt: time,
    },
    required: [],
    additionalProperties: false,
  }
}

function filesOf(scenario: Scenario): PolicyFiles {
  const texts = {
    'model.conf': MODEL,
    'policy.csv': `${rulesOf(scenario).join('\n')}\n`,
    'roles.yaml': 'member: { description: A user. }\n',
    'ownership.yaml': ownershipOf(scenario),
    'views.yaml': '',
    'limits.yaml': 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n',
  }
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, { name, text }]),
  ) as unknown as PolicyFiles
}

/** A rule for each way to an action. */
function rulesOf({ levels, owner, hasPublic }: Scenario): readonly string[] {
  return ACTIONS.flatMap((action) => {
    const ways = [
      ...(owner.thing.includes(action) ? ['owner'] : []),
      ...(owner.parent.includes(action) ? ['ownsAbove'] : []),
      ...(levels.thing[action].length > 0 ? [`${action}s`] : []),
      ...(levels.parent[action].length > 0 ? [`${action}sAbove`] : []),
      ...(hasPublic && action === 'read' ? ['public'] : []),
    ]
    return ways.map((way) => `p, member, things, ${action}, ${way}, *, allow`)
  })
}

function ownershipOf({ levels, owner, hasPublic, depth }: Scenario): string {
  const on = (kind: 'thing' | 'parent') => ACTIONS.filter((action) => levels[kind][action].length > 0)
  const named = (kind: 'thing' | 'parent') =>
    on(kind).map((action) => `    ${action}s: { some: grants, where: onId, relation: ${action}Of${kind} }`)
  const holds = (kind: 'thing' | 'parent') =>
    on(kind).flatMap((action) => [
      `    ${action}LevelOf${kind}: { field: level, in: [${levels[kind][action].join(', ')}] }`,
      `    ${action}Of${kind}: { all: [holder, ${action}LevelOf${kind}] }`,
    ])
  const climb = depth > 1 ? `, depth: ${depth}` : ''
  const above = [
    ...(owner.parent.length > 0
      ? [`    ownsAbove: { through: parentId, to: parents, relation: owns${climb ? 'Chain' : ''} }`]
      : []),
    ...on('parent').map(
      (action) =>
        `    ${action}sAbove: { through: parentId, to: parents, relation: ${action}s${climb ? 'Chain' : ''} }`,
    ),
  ]
  const chain = (name: string) => [
    `    ${name}Higher: { through: parentId, to: parents, relation: ${name}${climb} }`,
    `    ${name}Chain: { any: [${name}, ${name}Higher] }`,
  ]
  const parents = [
    '    owns: ownerId',
    ...named('parent'),
    ...(climb
      ? [...(owner.parent.length > 0 ? chain('owns') : []), ...on('parent').flatMap((action) => chain(`${action}s`))]
      : []),
  ]
  return `things:
  relations:
    owner: ownerId
${[...(hasPublic ? ['    public: { field: visibility, in: [public] }'] : []), ...named('thing'), ...above].join('\n')}
parents:
  relations:
${parents.join('\n')}
grants:
  relations:
    self: userId
    inGroup: { through: groupId, to: groups, relation: member }
    holder: { any: [self, inGroup] }
${[...holds('thing'), ...holds('parent')].join('\n')}
groups:
  relations:
    member: memberIds
`
}
