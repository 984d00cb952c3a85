/** All that a matrix could ask about: every path and method, every way to relate to the object, every column. */
import type { Policy } from '../../policy/policy.ts'
import type { Method, Resources } from '../../resources/resource.ts'
import { namedRelations, type Spot, spotsOf } from '../../review/space.ts'
import type { Column, ObjectState } from '../expectation.ts'
import { columnText } from '../expectation.ts'
import type { Cell } from './arrangement.ts'
import { relationSetsThatCanHold } from './relation-sets.ts'

/** A row of a matrix: methods that the same endpoint answers, and one way to relate to the object. */
export interface Row {
  readonly spot: Spot
  readonly methods: readonly Method[]
  readonly object: ObjectState
}

/** As rules of any of these policies tell objects apart. `OPTIONS *` is no path that a matrix can write. */
export function rowsOf(policies: readonly Policy[], resources: Resources): readonly Row[] {
  const spots = spotsOf(resources).filter(({ route }) => route.path !== '*')
  return [...Map.groupBy(spots, ({ route, endpoint }) => `${route.path} ${endpoint.operation}`).values()].flatMap(
    (group) => {
      const [spot] = group
      if (!spot) return []
      const methods = group.map(({ method }) => method)
      return statesOf(policies, spot).map((object) => ({ spot, methods, object }))
    },
  )
}

/** Relations that no rule about the action names make no difference, so they don't hold. */
function statesOf(policies: readonly Policy[], spot: Spot): readonly ObjectState[] {
  const [policy] = policies
  if (!policy || spot.route.kind === 'collection') return [{ kind: 'none' }]
  const named = new Set(policies.flatMap((one) => [...namedHere(one, spot)]))
  const sets = relationSetsThatCanHold(policy, spot.resource)
    .filter((set) => [...set].every((name) => named.has(name)))
    .map(stateOf)
  return [...sets, { kind: 'missing' }]
}

/** On the caller's own record the caller is its owner, whatever rules ask. OPTIONS concerns no object. */
function namedHere(policy: Policy, { endpoint, resource, action, route }: Spot): ReadonlySet<string> {
  const own = route.kind === 'caller' ? selfRelations(policy, resource.name) : []
  if (endpoint.operation === 'options') return new Set(own)
  const read = resource.actions.get('read')
  const concealed = policy.ownership.get(resource.name)?.conceal === true && read
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

/** The same for cells that no rule tells apart, whatever body they send. */
export function cellKey(
  policy: Policy,
  spot: Spot | undefined,
  { method, path, object, column, unconditional = false }: Cell,
): string {
  const named = spot && namedHere(policy, spot)
  const names = object.kind === 'relations' ? object.names.filter((name) => named?.has(name)) : []
  const kind = object.kind === 'relations' || object.kind === 'other' ? 'exists' : object.kind
  return JSON.stringify([method, path, kind, names, columnText(column), unconditional])
}
