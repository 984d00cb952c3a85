/** Casbin with its own readers and functions, as its documentation shows it: to see what it does on its own. */
import { type Enforcer, newEnforcer, newModelFromString, StringAdapter } from 'casbin'

export const RBAC = `[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act, eft
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = g(r.sub, p.sub) && r.obj == p.obj && r.act == p.act
`

/** The matcher of a model, replaced. */
export function withMatcher(matcher: string, model = RBAC): string {
  return model.replace(/^m = .*$/m, `m = ${matcher}`)
}

export function casbin(model: string, ...lines: readonly string[]): Promise<Enforcer> {
  return newEnforcer(newModelFromString(model), new StringAdapter(lines.join('\n')))
}
