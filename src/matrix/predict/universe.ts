/** All that a matrix could ask about: every path and method, every way to relate to the object, every column. */
import type { Policy } from '../../policy/policy.ts'
import type { Method, Resources } from '../../resources/resource.ts'
import { namedRelations, type Spot, spotsOf } from '../../review/space.ts'
import type { Column, ObjectState } from '../expectation.ts'
import type { Arrange, Cell } from './arrangement.ts'
import { relationSetsThatCanHold } from './relation-sets.ts'

/** A row of a matrix: methods that the same endpoint answers, and one way to relate to the object. */
export interface Row {
  readonly spot: Spot
  readonly methods: readonly Method[]
  readonly object: ObjectState
}

/** `OPTIONS *` is no path that a matrix can write. In the order of path, method and object. */
export function rowsOf(policy: Policy, resources: Resources): readonly Row[] {
  const spots = spotsOf(resources).filter(({ route }) => route.path !== '*')
  return [...Map.groupBy(spots, ({ route, endpoint }) => `${route.path} ${endpoint.operation}`).values()].flatMap(
    (group) => {
      const [spot] = group
      if (!spot) return []
      const methods = group.map(({ method }) => method)
      return statesOf(policy, spot).map((object) => ({ spot, methods, object }))
    },
  )
}

/** Whether such an object can be; a caller without credentials is nobody's owner. */
export function canBe(arrange: Arrange, policy: Policy, cell: Cell): boolean {
  return arrange(policy, cell).kind === 'scene'
}

/** Relations that no rule about the action names make no difference, so they don't hold. */
export function statesOf(policy: Policy, spot: Spot): readonly ObjectState[] {
  if (spot.route.kind === 'collection') return [{ kind: 'none' }]
  const named = namedHere(policy, spot)
  const sets = relationSetsThatCanHold(policy, spot.resource)
    .filter((set) => [...set].every((name) => named.has(name)))
    .map(stateOf)
  return [...sets, { kind: 'missing' }]
}

/** On the caller's own record the caller is its owner, whatever rules ask. OPTIONS concerns no object. */
export function namedHere(policy: Policy, { endpoint, resource, action, route }: Spot): ReadonlySet<string> {
  if (endpoint.operation === 'options') return new Set()
  const read = resource.actions.get('read')
  const concealed = policy.ownership.get(resource.name)?.conceal === true && read
  const own = route.kind === 'caller' ? selfRelations(policy, resource.name) : []
  return new Set([
    ...namedRelations(policy, resource, action),
    ...(concealed ? namedRelations(policy, resource, read) : []),
    ...own,
  ])
}

/** Those that hold for a record whose id is the caller's. */
function selfRelations({ ownership }: Policy, resource: string): readonly string[] {
  const relations = [...(ownership.get(resource)?.relations.values() ?? [])]
  return relations.flatMap((one) =>
    one.kind === 'caller' && one.field === 'id' && one.attribute === 'id' ? [one.name] : [],
  )
}

function stateOf(names: ReadonlySet<string>): ObjectState {
  return names.size === 0 ? { kind: 'other' } : { kind: 'relations', names: [...names].sort() }
}

/** anonymous, and each declared role. */
export function usualColumns({ roles }: Policy): readonly Column[] {
  return [{ kind: 'anonymous' }, ...[...roles.keys()].map((role): Column => ({ kind: 'roles', roles: [role] }))]
}
