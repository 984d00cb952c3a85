/** The answer to a caller whose sign-in is too old or too weak: a challenge to sign in again (RFC 9470 section 3). */
import { Problem } from '../../base/problems/problem.ts'
import type { Refused, StepUp } from '../../decide/refusal.ts'

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

function challengeOf({ acr, maxAge }: StepUp): string {
  const parameters = {
    error: 'insufficient_user_authentication',
    error_description: 'A fresher or stronger sign-in is required',
    ...(acr === undefined ? {} : { acr_values: acr.join(' ') }),
    ...(maxAge === undefined ? {} : { max_age: String(maxAge) }),
  }
  return `Bearer ${Object.entries(parameters)
    .map(([name, value]) => `${name}=${quotedString(value)}`)
    .join(', ')}`
}

/** RFC 9110 section 5.6.4. */
function quotedString(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}
