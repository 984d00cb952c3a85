/**
 * Whether a change of one object may have changed how callers are related to other objects: a membership that has come
 * or gone, a folder that has moved. A caller that it may concern must read its list again.
 */
import { type Climb, type Condition, meets, type Related } from '../../decide/conditions/condition.ts'
import { represent, sameJson } from '../../resources/object.ts'
import type { Representation } from '../../resources/resource.ts'
import type { ObjectChange } from '../../store/changes.ts'
import type { AskStored } from './seen-changes.ts'

type OtherObjects = Related | Climb

/** The resources whose objects the condition looks at. */
export function resourcesLookedAt(condition: Condition): readonly string[] {
  return stepsIn(condition).flatMap((step) => [step.resource, ...resourcesLookedAt(step.where)])
}

/** Whether the change may change what the condition answers for some object. */
export async function touches(step: OtherObjects, change: ObjectChange, ask: AskStored): Promise<boolean> {
  if (step.resource === change.resource && (await touchesHere(step, change, ask))) return true
  for (const inner of stepsIn(step.where)) if (await touches(inner, change, ask)) return true
  return false
}

async function touchesHere(step: OtherObjects, { id, before, after }: ObjectChange, ask: AskStored): Promise<boolean> {
  const then = before && represent(before)
  const now = after && represent(after)
  const looked = [...fieldsIn(step.where), step.kind === 'climb' ? step.field : step.by]
  if (then && now && looked.every((field) => isSame(then, now, field))) return false
  if (step.kind === 'climb') {
    // Nothing is reached through a new object that no other one names. What a delete took along can't be asked any more.
    if (then) return true
    return ask({ resource: step.resource, by: step.field, values: [id], where: { kind: 'always' } })
  }
  // Where further objects decide, each object may meet the condition.
  if (stepsIn(step.where).length > 0) return true
  return [then, now].some((object) => object && meets(step.where, object))
}

function isSame(one: Representation, other: Representation, field: string): boolean {
  return sameJson(one[field] ?? null, other[field] ?? null)
}

/** The fields that the condition looks at in the object itself. */
function fieldsIn(condition: Condition): readonly string[] {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return []
    case 'all':
    case 'some':
      return condition.of.flatMap(fieldsIn)
    case 'not':
      return fieldsIn(condition.of)
    default:
      return [condition.field]
  }
}

function stepsIn(condition: Condition): readonly OtherObjects[] {
  switch (condition.kind) {
    case 'related':
    case 'climb':
      return [condition]
    case 'all':
    case 'some':
      return condition.of.flatMap(stepsIn)
    case 'not':
      return stepsIn(condition.of)
    default:
      return []
  }
}
