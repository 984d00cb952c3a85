/** The answer to a caller whose sign-in is too old or too weak: a challenge to sign in again (RFC 9470 section 3). */
import { Problem } from '../../base/problems/problem.ts'
import type { Refused, StepUp } from '../../decide/refusal.ts'
import { challengeOf } from '../../decide/request-conditions/challenge.ts'

export function signInAgain(stepUp: StepUp, cause: Refused): Problem {
  return new Problem('step-up-required', `Sign in again: the sign-in must be ${wordsOf(stepUp)}.`, {
    cause,
    headers: { 'WWW-Authenticate': challengeOf(stepUp) },
  })
}

function wordsOf({ acr, maxAge }: StepUp): string {
  return [
    ...(maxAge === undefined ? [] : [`at most ${maxAge} seconds old`]),
    ...(acr === undefined ? [] : [`of the class ${acr.join(' or ')}`]),
  ].join(' and ')
}
