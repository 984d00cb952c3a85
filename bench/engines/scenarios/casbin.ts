/** node-casbin: a line for each grant and action, with groups of users (g) and nodes in nodes (g2). */
import { newEnforcer, newModelFromString, StringAdapter } from 'casbin'
import { ACTIONS, type ScenarioEngine, type ScenarioWorld } from './scenario.ts'

/** The cheap comparison stands first. */
const MODEL = `[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[role_definition]
g = _, _
g2 = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.act == p.act && g2(r.obj, p.obj) && (p.sub == "*" || g(r.sub, p.sub))`

export async function setUpCasbinScenario({
  scenario,
  nodes,
  grants,
  groupsOf,
}: ScenarioWorld): Promise<ScenarioEngine> {
  const lines = [...nodes.values()].flatMap(({ id, kind, ownerId, parentId, isPublic }) => [
    ...scenario.owner[kind].map((action) => `p, ${ownerId}, ${id}, ${action}`),
    ...(isPublic ? [`p, *, ${id}, read`] : []),
    ...(parentId === undefined ? [] : [`g2, ${id}, ${parentId}`]),
  ])
  for (const { onId, holder, level } of grants) {
    const levels = scenario.levels[nodes.get(onId)?.kind ?? 'thing']
    for (const action of ACTIONS) if (levels[action].includes(level)) lines.push(`p, ${holder}, ${onId}, ${action}`)
  }
  for (const [user, groups] of groupsOf) for (const group of groups) lines.push(`g, ${user}, ${group}`)
  const enforcer = await newEnforcer(newModelFromString(MODEL), new StringAdapter(lines.join('\n')))
  return { decide: ({ user, thing, action }) => enforcer.enforceSync(user, thing, action) }
}
