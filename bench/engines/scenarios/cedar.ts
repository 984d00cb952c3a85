/**
 * Cedar (WebAssembly) with its policies parsed once. The graph is in the form of Cedar's Google Drive example: a node is in
 * the views of those that may do something with it, a group's view is in those of its members. Each call is given the
 * entities that matter to it: the node with all that it is in, since the package keeps none between calls.
 */
import { loadPeerPackage } from '../../machine/peer-packages.ts'
import {
  ACTIONS,
  chainOf,
  type Node,
  type ScenarioAction,
  type ScenarioEngine,
  type ScenarioWorld,
} from './scenario.ts'

/** What is used of @cedar-policy/cedar-wasm. */
interface CedarCalls {
  preparsePolicySet(id: string, policies: { readonly staticPolicies: string }): { readonly type: string }
  statefulIsAuthorized(call: object): { readonly response?: { readonly decision: string } }
}

const POLICIES = `${ACTIONS.map(
  (action) => `permit(principal, action == Action::"${action}", resource) when { resource in principal.${action} };`,
).join('\n')}
permit(principal, action == Action::"read", resource) when { resource.isPublic };`

export async function setUpCedarScenario(world: ScenarioWorld): Promise<ScenarioEngine> {
  const cedar = (await loadPeerPackage('@cedar-policy/cedar-wasm/nodejs')) as CedarCalls
  const id = `${world.scenario.name} ${world.nodes.size}`
  const parsed = cedar.preparsePolicySet(id, { staticPolicies: POLICIES })
  if (parsed.type !== 'success') throw new Error(`Cedar refuses the policies: ${JSON.stringify(parsed)}`)
  const entitiesOf = entitiesIn(world)
  return {
    decide: ({ user, thing, action }) => {
      const principal = { type: 'User', id: user }
      const views = ACTIONS.map((one) => [one, { __entity: viewOf(user, one) }] as const)
      const { response } = cedar.statefulIsAuthorized({
        principal,
        action: { type: 'Action', id: action },
        resource: { type: 'Node', id: thing },
        context: {},
        preparsedPolicySetId: id,
        entities: [{ uid: principal, attrs: Object.fromEntries(views), parents: [] }, ...(entitiesOf.get(thing) ?? [])],
      })
      return response?.decision === 'allow'
    },
  }
}

function viewOf(holder: string, action: ScenarioAction) {
  return { type: 'View', id: `${holder} ${action}` }
}

/** By thing, made once: it and all that it is in. */
function entitiesIn(world: ScenarioWorld): ReadonlyMap<string, readonly object[]> {
  const membersOf = new Map<string, string[]>()
  for (const [user, groups] of world.groupsOf) {
    for (const group of groups) membersOf.getOrInsertComputed(group, () => []).push(user)
  }
  return new Map([...world.nodes.keys()].map((id) => [id, entitiesAbove(world, id, membersOf)]))
}

function entitiesAbove(
  world: ScenarioWorld,
  thing: string,
  membersOf: ReadonlyMap<string, readonly string[]>,
): readonly object[] {
  const groupViews = new Map<string, object>()
  const nodes = chainOf(world, thing).map((node) => {
    const holders = holdersOf(world, node)
    for (const { holder, action } of holders) {
      const members = membersOf.get(holder)
      const uid = viewOf(holder, action)
      if (members) groupViews.set(uid.id, { uid, attrs: {}, parents: members.map((one) => viewOf(one, action)) })
    }
    const above = node.parentId === undefined ? [] : [{ type: 'Node', id: node.parentId }]
    const parents = [...above, ...holders.map(({ holder, action }) => viewOf(holder, action))]
    return { uid: { type: 'Node', id: node.id }, attrs: { isPublic: node.isPublic }, parents }
  })
  return [...nodes, ...groupViews.values()]
}

function holdersOf({ scenario, grants }: ScenarioWorld, { id, kind, ownerId }: Node) {
  const owner = scenario.owner[kind].map((action) => ({ holder: ownerId, action }))
  const granted = grants
    .filter(({ onId }) => onId === id)
    .flatMap(({ holder, level }) =>
      ACTIONS.filter((action) => scenario.levels[kind][action].includes(level)).map((action) => ({ holder, action })),
    )
  return [...owner, ...granted]
}
