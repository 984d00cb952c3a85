/**
 * What the server must answer to one request, told from the policy alone: semantics.md, on `evaluate` (the server has
 * Casbin, SQL and the pipeline instead). Random tests hold the two equal.
 */

import type { Representation } from '../../../resources/resource.ts'
import { redirectStatus, successStatus } from '../../../resources/routing/success-status.ts'
import { answerCreation } from './answer-creation.ts'
import { answerOnItem } from './answer-on-item.ts'
import { answerWrite } from './answer-write.ts'
import { type Answer, attributesOf, lacksPrecondition, refused, relate, type Situation, show } from './situation.ts'

/** The checks in the order of semantics.md ("Refusals"), from 401 on. Method and path are known to be accepted. */
export function predict(situation: Situation): Answer {
  const { spot, now, asker, grants } = situation
  const { route, endpoint, resource, action } = spot
  const { sunsetAt } = route.lifecycle ?? {}
  if (sunsetAt !== undefined && now >= sunsetAt) return { status: 410 }
  if (route.kind === 'caller' && endpoint.operation !== 'options' && !asker) return refused(situation)
  if (endpoint.operation === 'options' || resource.builtIn) return answerRoute(situation)
  if (!grants.reachable({ asker, resource, action }, (attribute) => attributesOf(situation)(attribute) !== undefined))
    return refused(situation)
  if (route.redirect) return { status: redirectStatus(route.redirect, spot.method) }
  return answerData(situation)
}

function answerData(situation: Situation): Answer {
  switch (situation.spot.endpoint.operation) {
    case 'list':
      return answerList(situation)
    case 'create':
      return answerCreation(situation)
    case 'replace':
    case 'update':
      return answerOnItem(situation, (object) => answerWrite(situation, object))
    case 'delete':
      return answerOnItem(situation, (object) => deletion(situation, String(object.id)))
    default:
      return answerOnItem(situation, (object) => reading(situation, object))
  }
}

/** OPTIONS and the built-in routes concern no object, so no relation holds. */
function answerRoute(situation: Situation): Answer {
  const { grants, asker, spot } = situation
  const fields = grants.fields({ asker, resource: spot.resource, action: spot.action }, [])
  if (fields.size === 0) return refused(situation)
  if (spot.endpoint.operation === 'options') return { status: successStatus('options') }
  if (spot.resource.takes) return answerSignIn(situation)
  return { status: 200, shown: Object.fromEntries([...fields].map((field) => [field, ''])) }
}

/** Nobody has a password here, and no token a session: what is allowed comes to nothing, but in another way than a refusal. */
function answerSignIn({ spot, body }: Situation): Answer {
  if (spot.endpoint.operation === 'delete') return { status: 404 }
  return { status: spot.resource.validate(body ?? {}).length > 0 ? 400 : 401 }
}

/** Exactly the objects for which the action is allowed one by one, each with the fields granted for its own relations. */
function answerList(situation: Situation): Answer {
  const { objects, spot, grants, asker } = situation
  const { resource, action } = spot
  const listed = [...(objects.get(resource.name)?.values() ?? [])].filter(
    (object) => grants.fields({ asker, resource, action }, relate(situation, object)).size > 0,
  )
  return {
    status: successStatus('list'),
    items: listed.map((object) => ({ object, shown: show(situation, action.name, object) })),
  }
}

function reading(situation: Situation, object: Representation): Answer {
  return { status: successStatus('read'), shown: show(situation, situation.spot.action.name, object), of: object }
}

function deletion(situation: Situation, id: string): Answer {
  if (lacksPrecondition(situation)) return { status: 428 }
  return { status: successStatus('delete'), written: { id, object: undefined } }
}
