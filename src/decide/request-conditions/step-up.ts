/**
 * Step-up (docs/semantics.md, "Refusals"; RFC 9470): which `signedIn` conditions would let a refused request pass, if
 * the caller signed in again.
 */

import type { Refusal, StepUp } from '../refusal.ts'
import type { RequestConditions } from './conditions-now.ts'
import type { SignedIn } from './signed-in.ts'

/** Nobody signs in for more conditions at once; a bound for the sets that are tried. */
const MOST_SETS = 256

/**
 * The smallest set of conditions with which `passes` (of equals, the first in conditions.yaml); `passes` gets the names
 * of all conditions that would hold. Nothing more is read for it: it decides the same level again from the same facts.
 */
export function stepUp(
  { holding, toSignIn }: RequestConditions,
  passes: (holding: readonly string[]) => boolean,
): Pick<Refusal, 'stepUp'> {
  if (toSignIn.length === 0) return {}
  const found = setsOf(toSignIn).find((set) => passes([...holding, ...set.map(({ name }) => name)]))
  return found ? { stepUp: demandOf(found) } : {}
}

/** Sets of one condition, then of two, and so on; each in the order of the file. */
function setsOf(conditions: readonly SignedIn[]): readonly (readonly SignedIn[])[] {
  const all: (readonly SignedIn[])[] = [[]]
  for (const one of conditions.toReversed()) all.unshift(...all.slice(0, MOST_SETS).map((set) => [one, ...set]))
  return all.filter((set) => set.length > 0).toSorted((a, b) => a.length - b.length)
}

function demandOf(conditions: readonly SignedIn[]): StepUp {
  const ages = conditions.flatMap(({ withinMs }) => (withinMs === undefined ? [] : [withinMs]))
  const classes = conditions.flatMap(({ acr }) => (acr ? [acr] : []))
  const shared = (classes[0] ?? []).filter((name) => classes.every((others) => others.includes(name)))
  const acr = shared.length > 0 ? shared : [...new Set(classes.flat())]
  return {
    conditions: conditions.map(({ name }) => name),
    ...(ages.length === 0 ? {} : { maxAge: Math.floor(Math.min(...ages) / 1000) }),
    ...(acr.length === 0 ? {} : { acr }),
  }
}

// The challenge of a step-up as a header, for the server's answer and for tools that foretell it (RFC 9470 section 3).

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
