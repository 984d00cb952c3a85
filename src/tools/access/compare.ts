/** Who gained or lost what between two versions of the policy: people and API keys of today, and objects of today. */
import { byText } from '../../base/by-text.ts'
import { subsets } from '../../base/subsets.ts'
import { timeText } from '../../base/time.ts'
import type { Condition } from '../../decide/conditions/condition.ts'
import { simplify } from '../../decide/conditions/simplify-condition.ts'
import { isBlocked } from '../../decide/decide.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import type { LoadedPolicy } from '../load-policy.ts'
import { type Cases, casesText, MOST_UNKNOWN } from './judge.ts'
import { ObjectsInMemory } from './objects-in-memory.ts'
import {
  type Allowed,
  type AllowedAction,
  type AllowedWhere,
  CallersReach,
  type CountWhere,
  leftOutOf,
  type OfReport,
} from './of.ts'
import { callersOfToday } from './people-and-keys.ts'
import type { AccessReportQuestion } from './report.ts'

export interface CompareQuestion extends Omit<AccessReportQuestion, 'reviewed' | 'records'> {
  readonly from: LoadedPolicy
  readonly to: LoadedPolicy
}

export interface AccessComparison {
  readonly at: string
  /** The revisions. */
  readonly from: string
  readonly to: string
  /** Callers who are compared. */
  readonly compared: number
  readonly changes: readonly AccessChange[]
  readonly leftOut: OfReport['leftOut']
  readonly undecided: readonly (OfReport['undecided'][number] & { readonly subject: string })[]
}

export interface AccessChange {
  readonly subject: string
  readonly key: string | null
  readonly roles: readonly string[]
  readonly resource: string
  readonly action: string
  /** As in `access of`: empty for whatever the request, else in one of these cases. */
  readonly when: Cases
  readonly gained: AccessPart | null
  readonly lost: AccessPart | null
}

interface AccessPart {
  /** On how many objects of today the action is now allowed (or no longer); null for a new object. */
  readonly objects: number | null
  /** Further objects, on which it depends on the values that the request sends. */
  readonly byValues: number
  readonly fields: readonly { readonly names: readonly string[]; readonly objects: number | null }[]
}

/** Throws what the store throws, and ToolError. */
export async function accessBetween({ from, to, ...question }: CompareQuestion): Promise<AccessComparison> {
  const { opened, now, progress } = question
  const objects = await ObjectsInMemory.read({ ...question, opened }, [from.policy, to.policy])
  const side = (reviewed: LoadedPolicy) => ({ reviewed, reach: new CallersReach({ ...question, reviewed }, objects) })
  const sides = [side(from), side(to)] as const
  const callers = await callersOfToday({ ...question, opened })
  progress.begin('deciding', callers.length)
  const changes: AccessChange[] = []
  const undecided: AccessComparison['undecided'][number][] = []
  for (const { caller, key, record } of callers) {
    const [before = NOTHING, after = NOTHING] = await Promise.all(
      sides.map(({ reviewed: { blocked }, reach }) =>
        isBlocked(blocked, caller.id, now) ? NOTHING : reach.allowed(caller, record),
      ),
    )
    const who = { subject: caller.id, key, roles: caller.roles }
    for (const { resource, action, ...pair } of pairsOf(before.allowed, after.allowed)) {
      const counted = (where: Condition) => sides[0].reach.count(resource, where)
      const compared = await changesOf(pair, counted)
      if (!compared) undecided.push({ subject: caller.id, resource, action, why: TOO_MANY })
      else for (const change of compared) changes.push({ ...who, resource, action, ...change })
    }
    for (const one of [...before.undecided, ...after.undecided]) undecided.push({ subject: caller.id, ...one })
    progress.done(1)
  }
  const place = (one: AccessChange) => JSON.stringify([one.subject, one.key, one.resource, one.action, one.when])
  return {
    at: timeText(now),
    from: revisionOf(from.files, from.blockedFile),
    to: revisionOf(to.files, to.blockedFile),
    compared: callers.length,
    changes: changes.toSorted((a, b) => byText(place(a), place(b))),
    leftOut: leftOutOf(question.resources),
    undecided,
  }
}

const NOTHING = { allowed: [], undecided: [] }
const TOO_MANY = 'the rules of both versions ask for too many conditions of the request'

interface ActionPair {
  readonly resource: string
  readonly action: string
  readonly before: AllowedAction | undefined
  readonly after: AllowedAction | undefined
}

function pairsOf(before: readonly AllowedAction[], after: readonly AllowedAction[]): Iterable<ActionPair> {
  const pairs = new Map<string, ActionPair>()
  const nameOf = ({ resource, action }: AllowedAction) => JSON.stringify([resource, action])
  for (const one of before) pairs.set(nameOf(one), { ...one, before: one, after: undefined })
  for (const one of after) pairs.set(nameOf(one), { ...one, before: pairs.get(nameOf(one))?.before, after: one })
  return pairs.values()
}

type CaseChange = Pick<AccessChange, 'when' | 'gained' | 'lost'>

/** In the cases of both versions together. Undefined if they are too many. */
async function changesOf(
  { before, after }: Pick<ActionPair, 'before' | 'after'>,
  count: CountWhere,
): Promise<readonly CaseChange[] | undefined> {
  const unknown = [...new Set([...(before?.unknown ?? []), ...(after?.unknown ?? [])])]
  if (unknown.length > MOST_UNKNOWN) return undefined
  const cases = subsets(unknown).map((set) => ({ set, old: allowedIn(before, set), fresh: allowedIn(after, set) }))
  const changes: CaseChange[] = []
  for (const [, alike] of Map.groupBy(cases, ({ old, fresh }) => JSON.stringify([old, fresh]))) {
    const [{ old, fresh } = { old: undefined, fresh: undefined }] = alike
    const [gained, lost] = [await partBeyond(fresh, old, count), await partBeyond(old, fresh, count)]
    const sets = alike.map(({ set }) => set)
    if (gained || lost) changes.push({ when: casesText(unknown, sets), gained, lost })
  }
  return changes
}

/** What is allowed while exactly these of the conditions hold. */
function allowedIn(action: AllowedAction | undefined, set: readonly string[]): Allowed | undefined {
  const asked = new Set(action?.unknown.filter((name) => set.includes(name)))
  const isAsked = (one: readonly string[]) => one.length === asked.size && one.every((name) => asked.has(name))
  return action?.cases.find(({ sets }) => sets.some(isAsked))?.allowed
}

/** What the first one allows and the other one doesn't; null for nothing. */
async function partBeyond(
  one: Allowed | undefined,
  other: Allowed | undefined,
  count: CountWhere,
): Promise<AccessPart | null> {
  if (!one) return null
  if ('where' in one) return objectsBeyond(one.where, other && 'where' in other ? other.where : undefined, count)
  const had = other && 'created' in other ? other.created : undefined
  const names = one.created.filter((name) => !had?.includes(name))
  if (had && names.length === 0) return null
  return { objects: null, byValues: 0, fields: names.length === 0 ? [] : [{ names, objects: null }] }
}

async function objectsBeyond(
  one: AllowedWhere,
  other: AllowedWhere | undefined,
  count: CountWhere,
): Promise<AccessPart | null> {
  const objects = await count(without(one.any, other?.any))
  const byValues = await count(without(without(eitherWay(one), eitherWay(other)), one.any))
  const beyond = one.byFields.flatMap(({ fields, where }) =>
    fields.map((name) => [name, without(where, fieldIn(other, name))] as const),
  )
  const fields: { names: readonly string[]; objects: number }[] = []
  for (const [, same] of Map.groupBy(beyond, ([, where]) => JSON.stringify(where))) {
    const granted = await count(same[0]?.[1] ?? NEVER)
    if (granted > 0) fields.push({ names: same.map(([name]) => name), objects: granted })
  }
  return objects + byValues + fields.length === 0 ? null : { objects, byValues, fields }
}

const NEVER: Condition = { kind: 'never' }

/** Whatever the request sends, or by the values that it sends. */
function eitherWay(where: AllowedWhere | undefined): Condition {
  return where ? (where.either ?? where.any) : NEVER
}

function fieldIn(where: AllowedWhere | undefined, name: string): Condition {
  return where?.byFields.find(({ fields }) => fields.includes(name))?.where ?? NEVER
}

function without(one: Condition, other: Condition = NEVER): Condition {
  if (JSON.stringify(one) === JSON.stringify(other)) return NEVER
  return simplify({ kind: 'all', of: [one, { kind: 'not', of: other }] })
}
