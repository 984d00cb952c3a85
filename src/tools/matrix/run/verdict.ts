/** The rules behind an answer that wasn't expected, as far as the policy files tell. */
import { v7 as uuidv7 } from 'uuid'
import { evaluate, type Verdict } from '../../../decide/grants/evaluate.ts'
import { proposeNew } from '../../../decide/propose.ts'
import { ownerFieldOf, relationsOf } from '../../../decide/relations/ownership.ts'
import { relationSetsOf } from '../../../decide/space.ts'
import type { Representation } from '../../../resources/resource.ts'
import { isObject } from '../../../resources/schema/subschemas.ts'
import type { Bound, Ground } from './bind.ts'
import { subjectsOf } from './decisive-rule.ts'
import type { Scene } from './set-up.ts'

/** Half a sentence, as in `policy.csv:19 allows it`; undefined where no rule says anything about it. */
export function rulesBehind(ground: Ground, bound: Bound, scene: Scene, status: number): string | undefined {
  const { endpoint, resource, expectation } = bound
  const action = endpoint && resource.actions.get(endpoint.action)
  // What the schema refuses isn't the policy's matter.
  if (!action || expectation.object.kind === 'missing' || status === 400) return undefined
  const subjects = subjectsOf(ground.policy, expectation.column)
  const verdicts = relationsBehind(ground, bound, scene).map((relations) =>
    evaluate(ground.policy, { subjects, resource, action, relations }),
  )
  const granting = verdicts.filter(({ fields }) => fields.size > 0)
  if (granting.length === 0) return say(verdicts, 'denies') ?? 'no rule of policy.csv allows it'
  const allowed = say(granting, 'allows')
  const view = ground.policy.views.get(resource.name)?.get(bound.route.view ?? '')
  if (view && action.hasFields && granting.every(({ fields }) => fields.isDisjointFrom(view)))
    return `${allowed}, but no field of the view \`${bound.route.view}\``
  if (status === 403 && scene.body !== undefined) return `${allowed}, but not all that the body would write`
  const denied = say(granting, 'denies', 'some of its fields')
  return denied === undefined ? allowed : `${allowed}, and ${denied}`
}

/** As in `policy.csv:3, policy.csv:7 deny it`; undefined where no rule does. */
function say(verdicts: readonly Verdict[], what: 'allows' | 'denies', object = 'it'): string | undefined {
  const lines = [...new Set(verdicts.flatMap((verdict) => verdict[what].map(({ line }) => line)))].sort((a, b) => a - b)
  const verb = what === 'allows' ? 'allow' : 'deny'
  if (lines.length === 0) return undefined
  return `${lines.map((line) => `policy.csv:${line}`).join(', ')} ${lines.length > 1 ? verb : what} ${object}`
}

/** A list is allowed where one of the ways to relate to an object is. */
function relationsBehind(ground: Ground, bound: Bound, scene: Scene): readonly ReadonlySet<string>[] {
  const { endpoint, resource } = bound
  const action = endpoint?.operation === 'list' ? resource.actions.get(endpoint.action) : undefined
  if (action && !resource.builtIn) return relationSetsOf(ground.policy, resource, action)
  return [new Set(relationsIn(ground, bound, scene))]
}

/** Those that hold with the object that the cell is about. */
function relationsIn(ground: Ground, bound: Bound, scene: Scene): readonly string[] {
  const { resource, endpoint, expectation } = bound
  const [placed] = expectation.object.kind === 'none' ? [] : scene.placed
  const about = endpoint?.operation === 'create' ? created(ground, bound, scene) : placed?.object
  if (!about) return []
  return relationsOf(ground.policy.ownership.get(resource.name), (name) => scene.caller?.attributes[name], about)
}

/** What the body makes, with the owner and the defaults that the server fills in. */
function created({ policy }: Ground, { resource }: Bound, { caller, body = null }: Scene): Representation | undefined {
  const owner = ownerFieldOf(resource, policy.ownership.get(resource.name))
  const server = { id: uuidv7(), owner, callerId: caller?.id, now: new Date().toISOString() }
  return isObject(body) ? proposeNew(resource, body, server).after : undefined
}
