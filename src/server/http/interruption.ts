/**
 * Keeps a refusal by Node's parser or a time-out with its request: the first stage that checks for it throws it, so
 * that it gets a decision record, metrics and a problem document like any other refusal.
 */
import type { IncomingMessage } from 'node:http'
import type { Problem } from '../../base/problems/problem.ts'

const controllers = new WeakMap<IncomingMessage, AbortController>()

/** The rest of the request will never come, for this reason. */
export function interrupt(request: IncomingMessage, problem: Problem): void {
  controllerOf(request).abort(problem)
}

/** Why the request was interrupted; undefined when it wasn't (yet). */
export function interruptionOf(request: IncomingMessage): Problem | undefined {
  return controllers.get(request)?.signal.reason
}

/** Rejects when the request is interrupted; otherwise never settles. */
export function untilInterrupted(request: IncomingMessage): Promise<never> {
  const { signal } = controllerOf(request)
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function controllerOf(request: IncomingMessage): AbortController {
  const known = controllers.get(request)
  if (known) return known
  const controller = new AbortController()
  controllers.set(request, controller)
  return controller
}
