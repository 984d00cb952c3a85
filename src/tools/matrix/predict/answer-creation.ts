/** POST: allowed on the object as it would be stored, with every field that the body names. */
import { v7 as uuidv7 } from 'uuid'
import { proposeNew } from '../../../decide/propose.ts'
import { successStatus } from '../../../resources/routing/success-status.ts'
import { unfit } from './proposal.ts'
import { type Answer, granted, isTaken, ownerField, refused, relate, type Situation, showWritten } from './situation.ts'

export function answerCreation(situation: Situation): Answer {
  const { spot, asker, body, now } = situation
  if (!body) return { status: 415 }
  const owner = ownerField(situation)
  const at = new Date(now).toISOString()
  const server = { id: uuidv7(), owner, callerId: asker?.id, now: at }
  const proposal = proposeNew(spot.resource, body, server)
  const { after, named } = proposal
  const fields = granted(situation, spot.action.name, relate(situation, after))
  const mayWrite = (name: string) => fields.has(name) || (spot.resource.fields.get(name)?.readOnly ?? true)
  if (fields.size === 0 || ![...named].every(mayWrite)) return refused(situation)
  const refusal = unfit(situation, proposal)
  if (refusal) return refusal
  if (isTaken(situation, spot.resource, after)) return { status: 409 }
  return {
    status: successStatus('create'),
    shown: showWritten(situation, after),
    of: after,
    written: { id: String(after.id), object: after },
  }
}
