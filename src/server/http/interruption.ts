/**
 * Keeps a refusal by Node's parser or a time-out with its request: the first stage that checks for it throws it, so
 * that it gets a decision record, metrics and a problem document like any other refusal.
 */
import type { IncomingMessage } from 'node:http'
import type { Problem } from '../../base/problems/problem.ts'

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
