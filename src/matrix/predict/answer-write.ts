/** PUT and PATCH of an object on which they are allowed: what the body changes must be granted before and after. */
import { isDeepStrictEqual } from 'node:util'
import type { Proposal } from '../../policy/permits.ts'
import type { Json, Representation } from '../../resources/resource.ts'
import { proposeReplacement, proposeUpdate } from '../../routes/propose.ts'
import { proposalOf } from './proposal.ts'
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
  show,
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
  if (Object.keys(body).some((field) => isHidden(situation, before, field))) return refused(situation)
  const proposal = proposalOf(() => propose(situation, before, body))
  if (!proposal) return { status: 400 }
  if (!isPermitted(situation, before, proposal)) return refused(situation)
  if (lacksPrecondition(situation)) return { status: 428 }
  if (isTaken(situation, spot.resource, proposal.after)) return { status: 409 }
  return written(situation, proposal.after)
}

/** A field that the caller can neither read nor write is refused whatever its value. */
function isHidden({ spot }: Situation, { writable, readable }: Before, field: string): boolean {
  const declared = spot.resource.fields.get(field)
  return declared !== undefined && !readable.has(field) && (declared.readOnly || !writable.has(field))
}

function propose(situation: Situation, { object, writable }: Before, body: Readonly<Record<string, Json>>): Proposal {
  const { spot } = situation
  if (spot.endpoint.operation === 'update') return proposeUpdate(spot.resource, body, object)
  return proposeReplacement(spot.resource, body, { before: object, writable, owner: ownerField(situation) })
}

function isPermitted(situation: Situation, before: Before, { after, named }: Proposal): boolean {
  const grantedAfter = grantedOnChange(situation, before, after)
  if (grantedAfter.size === 0) return false
  const concerned = new Set([...Object.keys(before.object), ...Object.keys(after), ...named])
  return [...concerned].every((field) => {
    if (before.writable.has(field) && grantedAfter.has(field)) return true
    return !changes(before.object, after, field) && (!named.has(field) || before.readable.has(field))
  })
}

function grantedOnChange(situation: Situation, { object }: Before, after: Representation): ReadonlySet<string> {
  const relations = relateChange(situation, { stored: object, proposed: after })
  return granted(situation, situation.spot.action.name, relations)
}

function written(situation: Situation, after: Representation): Answer {
  const object: Representation = { ...after, updatedAt: new Date(situation.now).toISOString() }
  const shown = show(situation, 'read', object)
  const change = { id: String(object.id), object }
  return Object.keys(shown).length === 0
    ? { status: 204, written: change }
    : { status: 200, shown, of: object, written: change }
}

function changes(before: Representation, after: Representation, field: string): boolean {
  const had = Object.hasOwn(before, field)
  return had !== Object.hasOwn(after, field) || (had && !isDeepStrictEqual(before[field], after[field]))
}
