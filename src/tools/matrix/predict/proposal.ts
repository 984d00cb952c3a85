/** Whether the schema and the largest size take what an object would become. */

import { Problem } from '../../../base/problems/problem.ts'
import { refuseTooLarge } from '../../../decide/object-size.ts'
import type { Proposal } from '../../../decide/permits.ts'
import { documentOf } from '../../../resources/object.ts'
import type { Representation } from '../../../resources/resource.ts'
import type { Answer, Situation } from './situation.ts'

/** Undefined when they do. `before`: the object as it is stored, of a change. */
export function unfit({ grants }: Situation, proposal: Proposal, before?: Representation): Answer | undefined {
  try {
    proposal.refuseUnfit()
    refuseTooLarge(grants.policy.limits.objectBytes, documentOf(proposal.after), before && documentOf(before))
    return undefined
  } catch (error) {
    if (error instanceof Problem) return { status: error.status }
    throw error
  }
}
