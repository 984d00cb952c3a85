/** The challenge of a step-up as a header, for the server's answer and for tools that foretell it (RFC 9470 section 3). */
import type { StepUp } from '../refusal.ts'

/** The value of `WWW-Authenticate`. */
export function challengeOf({ acr, maxAge }: StepUp): string {
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
