/** Cedar (WebAssembly) with its policies parsed once and kept: the quickest way to use it. Its package is the peers'. */
import { loadPeerPackage } from '../machine/peer-packages.ts'
import type { Engine, EngineRule } from './questions.ts'

/** What is used of @cedar-policy/cedar-wasm. */
interface Cedar {
  preparsePolicySet(id: string, policies: { readonly staticPolicies: string }): { readonly type: string }
  statefulIsAuthorized(call: object): { readonly response?: { readonly decision: string } }
}

const POLICIES = 'rules'

export async function setUpCedar(rules: readonly EngineRule[]): Promise<Engine> {
  const cedar = (await loadPeerPackage('@cedar-policy/cedar-wasm/nodejs')) as Cedar
  const parsed = cedar.preparsePolicySet(POLICIES, { staticPolicies: rules.map(policyOf).join('\n') })
  if (parsed.type !== 'success') throw new Error(`Cedar refuses the policies: ${JSON.stringify(parsed)}`)
  return {
    decide: ({ role, sub, resource: type, action, owner }) => {
      const [principal, resource] = [
        { type: 'User', id: sub },
        { type, id: '5' },
      ]
      const { response } = cedar.statefulIsAuthorized({
        principal,
        resource,
        action: { type: 'Action', id: action },
        context: {},
        preparsedPolicySetId: POLICIES,
        entities: [
          { uid: principal, attrs: {}, parents: [{ type: 'Role', id: role }] },
          { uid: resource, attrs: { owner: { __entity: { type: 'User', id: owner } } }, parents: [] },
        ],
      })
      return response?.decision === 'allow'
    },
  }
}

function policyOf({ role, resource, action, own }: EngineRule): string {
  const scope = `principal in Role::"${role}", action == Action::"${action}", resource is ${resource}`
  return `permit(${scope})${own ? ' when { resource.owner == principal }' : ''};`
}
