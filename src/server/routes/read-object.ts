/** GET and HEAD of an item. */
import type { ReadDecision } from '../../decide/decision.ts'
import type { Outcome } from './outcome.ts'
import { isKnown } from './preconditions.ts'
import type { Asking, Services } from './services.ts'

/** Throws Problem precondition-failed. */
export function readObject(services: Services, asking: Asking, decision: ReadDecision): Outcome {
  const { object, representation: shown } = decision
  const item = { resource: asking.resource.name, object }
  const headers = { ETag: services.tags.of(item, shown) }
  // RFC 9110 section 15.4.5: 304 repeats the headers that a cache needs; what depends on the caller is set for every answer.
  if (isKnown(services, asking, item, shown)) return { status: 304, headers, body: undefined }
  return { status: 200, headers, body: shown }
}
