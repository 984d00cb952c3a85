/**
 * The caller signed in a short time ago, or in a strong way: `{ signedIn: { within: 15m, acr: [urn:example:mfa] } }`.
 * Both must hold where both are written.
 */
import { durationText, readDuration } from '../../base/time.ts'
import type { ConditionKind } from './condition-kind.ts'

export interface SignedIn {
  readonly kind: 'signedIn'
  readonly name: string
  /** The greatest age of the sign-in, itself included. */
  readonly withinMs?: number
  /** The accepted authentication context classes. */
  readonly acr?: readonly string[]
}

interface SignedInForm {
  readonly signedIn: { readonly within?: string; readonly acr?: readonly string[] }
}

/** The clocks of this server and of the issuer of the token may differ by this much. */
const CLOCK_SKEW_MS = 5_000

export const signedIn: ConditionKind<SignedIn, SignedInForm> = {
  isForm: (form): form is SignedInForm => 'signedIn' in form,
  needsCaller: true,
  parse(name, { signedIn: { within, acr } }, fault) {
    const withinMs = within === undefined ? undefined : readDuration(within)
    if (within !== undefined && withinMs === undefined) {
      fault(
        ['signedIn', 'within'],
        'sign-in-age',
        `\`${within}\` is not a duration`,
        'write it as 90s, 10m, 12h or 30d',
      )
      return undefined
    }
    return { kind: 'signedIn', name, ...(withinMs === undefined ? {} : { withinMs }), ...(acr ? { acr } : {}) }
  },
  holds: ({ withinMs, acr }, { now, authTime, acr: reached }) =>
    (withinMs === undefined || isRecent(authTime, now, withinMs)) &&
    (acr === undefined || (reached !== undefined && acr.includes(reached))),
  describe({ withinMs, acr }) {
    const recent = withinMs === undefined ? [] : [`at most ${durationText(withinMs)} ago`]
    const strong = acr === undefined ? [] : [`with ${acr.join(' or ')}`]
    return `the caller signed in ${[...recent, ...strong].join(' and ')}`
  },
  meaning: ({ withinMs, acr }) => JSON.stringify(['signedIn', withinMs ?? null, acr ? [...new Set(acr)].sort() : null]),
  isWithin: (one, other) => isYounger(one, other) && isStronger(one, other),
  /** The age in another unit, one of both left out, one class fewer. */
  mistakes({ withinMs, acr }) {
    const within = withinMs === undefined ? undefined : durationText(withinMs)
    const others = within === undefined ? [] : inOtherUnits(within).map((other) => formOf(other, acr))
    const dropped = within !== undefined && acr ? [formOf(within, undefined), formOf(undefined, acr)] : []
    const classes = acr && acr.length > 1 ? acr.map((left) => acr.filter((one) => one !== left)) : []
    return [...others, ...dropped, ...classes.map((fewer) => formOf(within, fewer))]
  },
}

function isRecent(authTime: number | undefined, now: number, withinMs: number): boolean {
  return authTime !== undefined && authTime <= now + CLOCK_SKEW_MS && now - authTime <= withinMs
}

function isYounger(one: SignedIn, other: SignedIn): boolean {
  return other.withinMs === undefined || (one.withinMs !== undefined && one.withinMs <= other.withinMs)
}

function isStronger(one: SignedIn, { acr }: SignedIn): boolean {
  return acr === undefined || (one.acr?.every((name) => acr.includes(name)) ?? false)
}

function formOf(within: string | undefined, acr: readonly string[] | undefined): SignedInForm {
  return { signedIn: { ...(within === undefined ? {} : { within }), ...(acr ? { acr } : {}) } }
}

function inOtherUnits(duration: string): readonly string[] {
  return ['s', 'm', 'h', 'd'].map((unit) => `${duration.slice(0, -1)}${unit}`).filter((other) => other !== duration)
}
