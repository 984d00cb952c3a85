/** PUT and PATCH of an object on which they are allowed: what the body changes must be granted before and after. */
import { isDeepStrictEqual } from 'node:util'
import type { Proposal } from '../../../decide/permits.ts'
import { proposeReplacement, proposeUpdate } from '../../../decide/propose.ts'
import type { Json, Representation } from '../../../resources/resource.ts'
import { successStatus } from '../../../resources/routing/success-status.ts'
import { unfit } from './proposal.ts'
import {
  type Answer,
  granted,
  isTaken,
  lacksPrecondition,
  ownerField,
  refused,
  relate,
  relateChange,
  type Situation,
  showWritten,
} from './situation.ts'

/** What is granted on the object as it is stored. */
interface Before {
  readonly object: Representation
  readonly writable: ReadonlySet<string>
  readonly readable: ReadonlySet<string>
}

export function answerWrite(situation: Situation, object: Representation): Answer {
  const { spot, body } = situation
  if (!body) return { status: 415 }
  const relations = relate(situation, object)
  const writable = granted(situation, spot.action.name, relations)
  const before: Before = { object, writable, readable: granted(situation, 'read', relations) }
  const proposal = propose(situation, before, body)
  if (!isPermitted(situation, before, proposal)) return refused(situation)
  const refusal = unfit(situation, proposal, object)
  if (refusal) return refusal
  if (lacksPrecondition(situation)) return { status: 428 }
  if (isTaken(situation, spot.resource, proposal.after)) return { status: 409 }
  return written(situation, object, proposal.after)
}

function propose(
  situation: Situation,
  { object, writable, readable }: Before,
  body: Readonly<Record<string, Json>>,
): Proposal {
  const { spot } = situation
  if (spot.endpoint.operation === 'update') return proposeUpdate(spot.resource, body, object)
  return proposeReplacement(spot.resource, body, {
    before: object,
    writable,
    readable,
    owner: ownerField(situation),
  })
}

/** What the body names and the caller can't read must be writable whatever its value, and isn't read by a patch. */
function isPermitted(situation: Situation, before: Before, { after, named, read }: Proposal): boolean {
  const grantedAfter = grantedOnChange(situation, before, after)
  if (grantedAfter.size === 0) return false
  return [...situation.spot.resource.fields.values()].every(({ name, readOnly }) => {
    const isWritable = before.writable.has(name) && grantedAfter.has(name)
    if (named.has(name) && !before.readable.has(name)) return isWritable && !readOnly && !read?.has(name)
    return isWritable || !changes(before.object, after, name)
  })
}

function grantedOnChange(situation: Situation, { object }: Before, after: Representation): ReadonlySet<string> {
  const relations = relateChange(situation, { stored: object, proposed: after })
  return granted(situation, situation.spot.action.name, relations)
}

/** What changes nothing isn't written. */
function written(situation: Situation, before: Representation, after: Representation): Answer {
  const isSame = Object.keys({ ...before, ...after }).every((field) => !changes(before, after, field))
  const object = isSame ? before : { ...after, updatedAt: new Date(situation.now).toISOString() }
  const shown = showWritten(situation, object)
  const change = { id: String(object.id), object }
  const status = successStatus('update', shown !== undefined)
  return shown ? { status, shown, of: object, written: change } : { status, written: change }
}

function changes(before: Representation, after: Representation, field: string): boolean {
  const had = Object.hasOwn(before, field)
  return had !== Object.hasOwn(after, field) || (had && !isDeepStrictEqual(before[field], after[field]))
}
