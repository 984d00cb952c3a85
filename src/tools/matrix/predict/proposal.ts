/** Whether the schema and the largest size take what an object would become. */

import { CATALOGUE } from '../../../base/problems/catalogue.ts'
import { type Proposal, refuseUnfit } from '../../../decide/permits.ts'
import { problemCodeOf } from '../../../decide/refusal.ts'
import { documentOf } from '../../../resources/object.ts'
import type { Representation } from '../../../resources/resource.ts'
import type { Answer, Situation } from './situation.ts'

/** Undefined when they do. `before`: the object as it is stored, of a change. */
export function unfit({ grants }: Situation, { faults, after }: Proposal, before?: Representation): Answer | undefined {
  const stored = before ? { before: documentOf(before) } : {}
  const refusal = refuseUnfit(grants.policy.limits, { faults, document: documentOf(after), ...stored })
  return refusal && { status: CATALOGUE[problemCodeOf(refusal, 'caller')].status }
}
