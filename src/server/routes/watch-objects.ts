/** GET and HEAD of a stream of events (docs/events.md): src/server/events/ sends them. */

import type { WatchDecision } from '../../decide/decision.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import type { ListRequest } from '../input/input.ts'
import type { HandledRequest, Outcome } from './handler.ts'

/** Throws Problem quota-exceeded. */
export function watchObjects(request: HandledRequest, decision: WatchDecision, { filter }: ListRequest): Outcome {
  const { req, res } = request.received()
  const begun = { status: successStatus('watch'), headers: { 'Cache-Control': 'no-store' }, body: undefined } as const
  if (request.method === 'HEAD') return { ...begun, stream: (response) => response.end() }
  const events = request.events()
  const leave = events.enter()
  if (res.closed || res.destroyed) leave()
  else res.once('close', leave)
  const lastEventId = req.headers['last-event-id']
  const asked = { decision, filter, lastEventId: lastEventId === undefined ? undefined : String(lastEventId) }
  return { ...begun, stream: (response) => events.follow(response, asked) }
}
