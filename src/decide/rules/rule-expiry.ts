/** Rules with an end: finds those in force at a time. A rule has ended from the millisecond that its `until=` names. */
import type { Policy } from '../policy.ts'

/** `now` in milliseconds since the epoch. */
export function lives({ until }: { readonly until?: number | undefined }, now: number): boolean {
  return until === undefined || now < until
}

/** The policy without the rules that have ended; the same object if none has ended. */
export function livingAt(policy: Policy, now: number): Policy {
  return policy.rules.every((rule) => lives(rule, now))
    ? policy
    : { ...policy, rules: policy.rules.filter((rule) => lives(rule, now)) }
}

/** The moments at which some of these rules end, each once, in order. */
export function endsOf(rules: Iterable<{ readonly until?: number | undefined }>): readonly number[] {
  const ends = [...rules].flatMap(({ until }) => (until === undefined ? [] : [until]))
  return [...new Set(ends)].sort((a, b) => a - b)
}
