/** The object level: whether there is such an object, and whether the action is allowed on it as it is stored. */
import type { Representation } from '../../../resources/resource.ts'
import { type Answer, granted, inView, ownershipOf, refused, relate, type Situation } from './situation.ts'

/** 404 for a caller who passed the role level; then `proceed`, on an object on which the action is allowed. */
export function answerOnItem(situation: Situation, proceed: (object: Representation) => Answer): Answer {
  const { objects, spot, asker, id } = situation
  const wanted = spot.route.kind === 'caller' ? asker?.id : id
  const object = wanted === undefined ? undefined : objects.get(spot.resource.name)?.get(wanted)
  if (!object) return { status: 404 }
  const relations = relate(situation, object)
  const fields = granted(situation, spot.action.name, relations)
  const shown = spot.endpoint.operation === 'read' ? inView(situation, fields) : fields
  if (shown.size > 0) return proceed(object)
  return isConcealed(situation, relations) ? { status: 404 } : refused(situation)
}

/** An object that the caller may not read answers like none where the resource conceals. */
function isConcealed(situation: Situation, relations: readonly string[]): boolean {
  return ownershipOf(situation)?.conceal === true && granted(situation, 'read', relations).size === 0
}
