/** Random relations of all kinds, with the views and conditions that random rules name. */
import fc from 'fast-check'
import type { OracleCondition, OraclePolicy, OracleRelation } from './world.ts'

/** Every resource has it, so that a wall may be built of it. */
const TENANT = { field: 'tenant', equals: 'tenant' }

type Pool = Readonly<Record<string, fc.Arbitrary<OracleRelation>>>

const is = (relation: OracleRelation) => fc.constant(relation)
const oneOf = (...relations: readonly OracleRelation[]) => fc.constantFrom(...relations)

const MOMENTS = ['now', 'now-1h', 'now+30m', 'now-1d']

const POOLS: Readonly<Record<string, Pool>> = {
  tasks: {
    owner: is({ field: 'ownerId', equals: 'id' }),
    watcher: is({ field: 'watchers', equals: 'id' }),
    mine: is({ field: 'assigneeId', equals: 'id' }),
    team: oneOf({ field: 'team', equals: 'teams' }, { field: 'team', equals: 'teams', fill: true }),
    open: is({ field: 'status', in: ['open'] }),
    active: is({ field: 'status', in: ['open', 'claimed'] }),
    assigned: is({ field: 'assigneeId', present: true }),
    watched: oneOf({ field: 'watchers', present: true }, { field: 'watchers', in: ['u2'] }),
    small: oneOf(
      { field: 'total', atMost: 10 },
      { field: 'total', atLeast: 5 },
      { field: 'total', atLeast: 1, atMost: 9.5 },
    ),
    due: fc.oneof(
      fc.constantFrom(...MOMENTS).map((before) => ({ field: 'dueAt', before })),
      fc.constantFrom(...MOMENTS).map((after) => ({ field: 'dueAt', after })),
      fc.constant({ field: 'dueAt', after: 'now-1d', before: 'now+30m' }),
    ),
    member: oneOf(
      { through: 'projectId', to: 'projects', relation: 'member' },
      { through: 'projectIds', to: 'projects', relation: 'member' },
    ),
    editor: is({ through: 'projectId', to: 'projects', relation: 'editor' }),
    inOpen: is({ through: 'projectId', to: 'projects', relation: 'open' }),
    invited: is({ some: 'memberships', where: 'taskIds', relation: 'self' }),
    sees: is({ through: 'folderId', to: 'folders', relation: 'viewer' }),
    colleague: is({ through: 'ownerId', to: 'users', relation: 'tenant' }),
    either: is({ any: ['owner', 'member'] }),
    both: is({ all: ['mine', 'open'] }),
    nested: is({ any: ['both', 'watcher', 'inOpen'] }),
  },
  projects: {
    lead: is({ field: 'leadId', equals: 'id' }),
    open: is({ field: 'state', in: ['open'] }),
    member: is({ some: 'memberships', where: 'projectId', relation: 'self' }),
    editor: oneOf(
      { some: 'memberships', where: 'projectId', relation: 'editor' },
      { some: 'memberships', where: 'projectId', relation: 'current' },
    ),
    staff: is({ any: ['lead', 'member'] }),
  },
  memberships: {
    self: is({ field: 'userId', equals: 'id' }),
    editing: is({ field: 'role', in: ['editor'] }),
    current: is({ field: 'until', after: 'now' }),
    editor: is({ all: ['self', 'editing'] }),
    peer: is({ through: 'projectId', to: 'projects', relation: 'member' }),
    lead: is({ through: 'projectId', to: 'projects', relation: 'lead' }),
  },
  folders: {
    direct: is({ field: 'viewers', equals: 'id' }),
    open: is({ field: 'state', in: ['open'] }),
    inherited: fc.constantFrom(1, 2, 3, 8).map((depth) => {
      return { through: 'parentId', to: 'folders', relation: 'direct', depth }
    }),
    inOpen: is({ through: 'parentId', to: 'folders', relation: 'open' }),
    viewer: is({ any: ['direct', 'inherited'] }),
  },
  users: {
    self: is({ field: 'id', equals: 'id' }),
  },
}

type Relations = OraclePolicy['relations']

/** Some of each pool, and all that they rest on. */
export const randomRelations: fc.Arbitrary<Relations> = fc
  .tuple(...Object.entries(POOLS).map(([resource, pool]) => randomPool(pool).map((all) => [resource, all] as const)))
  .chain((all) => {
    const places = all.flatMap(([resource, pool]) => Object.keys(pool).map((name) => ({ resource, name })))
    const pools = new Map(all.map(([resource, pool]) => [resource, new Map(Object.entries(pool))]))
    const walls = places.filter(({ name }) => name === 'tenant')
    return fc
      .tuple(fc.subarray(places), fc.boolean())
      .map(([wanted, hasWalls]) => closureOf(pools, hasWalls ? [...walls, ...wanted] : wanted))
  })

function randomPool(pool: Pool): fc.Arbitrary<Readonly<Record<string, OracleRelation>>> {
  return fc.record({ ...pool, tenant: fc.constantFrom(TENANT, { ...TENANT, fill: true }) })
}

interface Place {
  readonly resource: string
  readonly name: string
}

function closureOf(pools: Relations, wanted: readonly Place[]): Relations {
  const places = [...wanted]
  for (const { resource, name } of places) {
    const relation = pools.get(resource)?.get(name)
    places.push(
      ...(relation ? restsOn(resource, relation) : []).filter((next) => !places.some((one) => isSame(one, next))),
    )
  }
  const isWanted = (resource: string) => (relation: readonly [string, OracleRelation]) =>
    places.some((one) => isSame(one, { resource, name: relation[0] }))
  return new Map([...pools].map(([resource, pool]) => [resource, new Map([...pool].filter(isWanted(resource)))]))
}

function isSame(one: Place, other: Place): boolean {
  return one.resource === other.resource && one.name === other.name
}

function restsOn(resource: string, relation: OracleRelation): readonly Place[] {
  if ('all' in relation) return relation.all.map((name) => ({ resource, name }))
  if ('any' in relation) return relation.any.map((name) => ({ resource, name }))
  if ('through' in relation) return [{ resource: relation.to, name: relation.relation }]
  return 'some' in relation ? [{ resource: relation.some, name: relation.relation }] : []
}

export const CONDITIONS: Readonly<Record<string, OracleCondition>> = {
  office: { network: ['192.0.2.0/24', '2001:db8::/32'] },
  hours: { days: 'mon-fri', from: '08:00', to: '18:00', zone: 'Europe/Berlin' },
  night: { days: 'thu,sat-sun', from: '22:00', to: '04:00', zone: 'America/New_York' },
  fresh: { signedIn: { within: '15m' } },
  strong: { signedIn: { acr: ['urn:example:mfa'] } },
  both15: { signedIn: { within: '1h', acr: ['urn:example:mfa'] } },
  machine: { credential: ['api-key'] },
}

export const VIEWS: OraclePolicy['views'] = new Map([
  [
    'tasks',
    new Map([
      ['head', ['id', 'ownerId', 'projectId', 'status']],
      ['claim', ['assigneeId', 'status']],
      ['text', ['note', 'team']],
    ]),
  ],
  ['projects', new Map([['head', ['id', 'name', 'state']]])],
  ['folders', new Map([['head', ['id', 'state']]])],
])
