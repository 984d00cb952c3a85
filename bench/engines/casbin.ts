/** node-casbin asked at every decision, in its quickest form. */
import { newEnforcer, newModelFromString, StringAdapter } from 'casbin'
import type { Engine, EngineRule } from './questions.ts'

/** The cheap comparisons stand first. */
const MODEL = `[request_definition]
r = role, sub, obj, act, owner
[policy_definition]
p = role, obj, act, own
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.obj == p.obj && r.act == p.act && r.role == p.role && (p.own == "any" || r.owner == r.sub)`

export async function setUpCasbin(rules: readonly EngineRule[]): Promise<Engine> {
  const lines = rules.map(
    ({ role, resource, action, own }) => `p, ${role}, ${resource}, ${action}, ${own ? 'own' : 'any'}`,
  )
  const enforcer = await newEnforcer(newModelFromString(MODEL), new StringAdapter(lines.join('\n')))
  return {
    decide: ({ role, sub, resource, action, owner }) => enforcer.enforceSync(role, sub, resource, action, owner),
  }
}
