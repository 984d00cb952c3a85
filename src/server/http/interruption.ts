/**
 * A request that ends early. A refusal by Node's parser or a time-out is kept with its request: the first stage that
 * checks for it throws it, so that it gets a decision record, metrics and a problem document like any other refusal.
 * If the client is gone, the work of its request ends soon.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Problem } from '../../base/problems/problem.ts'

interface Interruption extends PromiseWithResolvers<never> {
  reason?: Problem
}

// No AbortController: one for each request with a body costs more than to read the body.
const interruptions = new WeakMap<IncomingMessage, Interruption>()

/** The rest of the request will never come, for this reason. */
export function interrupt(request: IncomingMessage, problem: Problem): void {
  const interruption = interruptionFor(request)
  interruption.reason ??= problem
  interruption.reject(problem)
}

/** Why the request was interrupted; undefined when it wasn't (yet). */
export function interruptionOf(request: IncomingMessage): Problem | undefined {
  return interruptions.get(request)?.reason
}

/** Rejects when the request is interrupted; otherwise never settles. */
export function untilInterrupted(request: IncomingMessage): Promise<never> {
  return interruptionFor(request).promise
}

function interruptionFor(request: IncomingMessage): Interruption {
  const known = interruptions.get(request)
  if (known) return known
  const interruption: Interruption = Promise.withResolvers<never>()
  // Perhaps nobody waits for it.
  interruption.promise.catch(() => undefined)
  interruptions.set(request, interruption)
  return interruption
}

const signals = new WeakMap<ServerResponse, AbortSignal>()

/**
 * Aborts when the connection closes before the answer has ended; its reason is the Problem of such a request. Made when
 * it is first asked for, because most requests end before they would ask.
 */
export function clientGone(response: ServerResponse): AbortSignal {
  return signals.getOrInsertComputed(response, () => {
    const controller = new AbortController()
    const leave = () => {
      if (!response.writableEnded) controller.abort(gone())
    }
    // A large answer has listeners of its own, and all together are more than Node's ten.
    response.setMaxListeners(20)
    if (response.closed || response.destroyed) leave()
    else response.once('close', leave)
    return controller.signal
  })
}

/** Only the decision record tells it: nobody is there to read an answer. */
function gone(): Problem {
  return new Problem('malformed-request', 'The connection closed before the answer; send the request again.')
}
