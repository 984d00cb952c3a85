/**
 * The conditions of an evaluation: its request comes from the service, not from the subject. So a condition about the
 * subject's address or sign-in is unknown, unless callers.yaml names the member that tells it, or the subject's own token
 * proves it. A decision is true only if it is true whichever way the unknown ones are.
 */

import { pointerOfPath } from '../../../base/json-pointer.ts'
import { onceKnown } from '../../../base/now-or-later.ts'
import { subsets } from '../../../base/subsets.ts'
import { conditionHolds, type RequestCondition } from '../../../decide/request-conditions/all-conditions.ts'
import { credentialKindOf } from '../../../decide/request-conditions/credential.ts'
import type { Asker } from '../asker.ts'
import { type Evaluation, refuseFaultyMembers } from '../entities.ts'
import type { KnownSubject } from './known-subject.ts'

/** Each doubles the number of decisions. */
export const MOST_UNKNOWN_CONDITIONS = 4

export type Holding = (condition: RequestCondition) => boolean

interface Judged {
  readonly decision: boolean
  readonly fields?: readonly string[]
}

interface Unknown {
  readonly decision: false
  readonly reason: 'condition-unknown'
}

const UNKNOWN: Unknown = { decision: false, reason: 'condition-unknown' }

const NONE: ReadonlySet<string> = new Set()

/** `judge` decides while exactly these conditions hold. Throws what it throws, and Problem invalid-body. */
export function inEveryCase<T extends Judged>(
  known: (condition: RequestCondition) => boolean | undefined,
  judge: (holding: Holding) => T | Promise<T>,
): T | Unknown | Promise<T | Unknown> {
  const unknown = new Set<string>()
  const holdingWith = (assumed: ReadonlySet<string>): Holding => {
    return (condition) => {
      const told = known(condition)
      if (told === undefined) unknown.add(condition.name)
      return told ?? assumed.has(condition.name)
    }
  }
  return onceKnown(judge(holdingWith(NONE)), (first) => {
    if (unknown.size === 0) return first
    if (unknown.size > MOST_UNKNOWN_CONDITIONS) return UNKNOWN
    const others = nonEmptySubsets([...unknown])
    return inOtherCases(first, others, (assumed) => judge(holdingWith(assumed)))
  })
}

/** Without a promise, where the judge needs none: then the reads of all cases see one state. */
function inOtherCases<T extends Judged>(
  all: T,
  [assumed, ...others]: readonly ReadonlySet<string>[],
  judge: (assumed: ReadonlySet<string>) => T | Promise<T>,
): T | Unknown | Promise<T | Unknown> {
  if (!assumed) return all.decision && all.fields?.length === 0 ? UNKNOWN : all
  return onceKnown(judge(assumed), (next): T | Unknown | Promise<T | Unknown> => {
    if (next.decision !== all.decision) return UNKNOWN
    return inOtherCases(withFieldsOfBoth(all, next), others, judge)
  })
}

function withFieldsOfBoth<T extends Judged>(one: T, other: T): T {
  return one.fields ? { ...one, fields: one.fields.filter((name) => other.fields?.includes(name)) } : one
}

export function nonEmptySubsets(names: readonly string[]): readonly ReadonlySet<string>[] {
  return subsets(names)
    .slice(1)
    .map((set) => new Set(set))
}

/** Whether a condition holds, as far as that is known. Throws Problem invalid-body for a member that isn't a boolean. */
export function knownConditions(
  { trust, now }: Asker,
  evaluation: Pick<Evaluation, 'action' | 'context'>,
  { caller, byToken }: KnownSubject,
): (condition: RequestCondition) => boolean | undefined {
  return (condition) => {
    if (trust.conditions.has(condition.name)) return toldIn(evaluation, condition, trust)
    if (condition.kind === 'network' || condition.kind === 'told') return undefined
    if (condition.kind !== 'hours' && !byToken) return undefined
    const { authTime, acr } = caller
    return conditionHolds(condition, { now, authTime, acr, credential: credentialKindOf(caller), hasCredentials: true })
  }
}

function toldIn(
  evaluation: Pick<Evaluation, 'action' | 'context'>,
  { name }: RequestCondition,
  { conditions }: Asker['trust'],
): boolean | undefined {
  const by = conditions.get(name)
  if (!by) return undefined
  const members = by.in === 'context' ? evaluation.context : evaluation.action.properties
  const value = members && Object.hasOwn(members, by.member) ? members[by.member] : undefined
  if (value === undefined || typeof value === 'boolean') return value
  const path = by.in === 'context' ? ['context', by.member] : ['action', 'properties', by.member]
  return refuseFaultyMembers([{ pointer: pointerOfPath(path), detail: 'must be of the type boolean', code: 'type' }])
}
