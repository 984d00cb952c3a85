/**
 * Compares two policies: the report holds every difference of meaning, by direction, and is empty if the policies are
 * equivalent.
 */
import type { SourceFile } from '../../base/diagnostic.ts'
import type { Policy } from '../../decide/policy.ts'
import type { Blocked } from '../../policy/parse/parse-blocked.ts'
import { type PolicyFiles, revisionOf } from '../../policy/policy-files.ts'
import { type Sides, sidesOf } from '../compared-space.ts'
import { type Direction, directionOf, type PolicyDifference } from './change.ts'
import { type Circumstances, compareDecisions } from './compare-decisions.ts'
import { compareLimits, compareSizes } from './compare-limits.ts'
import { compareConditions, compareRelations } from './compare-meanings.ts'
import {
  compareBlocked,
  compareGuarantees,
  compareMasks,
  compareRoles,
  compareRouteViews,
  compareSubscriptions,
  compareTrust,
} from './compare-settings.ts'
import { type BrokenRatchet, brokenRatchets } from './ratchets.ts'

export interface PolicyDiff {
  /** The names that the user gave them. */
  readonly names: Sides<string>
  /** Whether the files have the same bytes. */
  readonly sameText: boolean
  readonly changes: readonly PolicyDifference[]
  /** The guarantees about changes that the new version breaks: nothing puts it in force. */
  readonly refusals: readonly BrokenRatchet[]
}

/** A policy, and the files that it was read from. */
interface Reviewed {
  readonly policy: Policy
  readonly blocked: Blocked
  readonly files: PolicyFiles
  readonly blockedFile: SourceFile
}

/** The values of --fail-on. */
export const FAIL_ON = ['widening', 'narrowing', 'any'] as const

/** Throws Incomparable for policies with too many relations to compare. */
export function reportOn(names: Sides<string>, reviewed: Sides<Reviewed>, circumstances: Circumstances): PolicyDiff {
  const [before, after] = [reviewed.before, reviewed.after].map((one) => revisionOf(one.files, one.blockedFile))
  const changes = comparePolicies(reviewed, circumstances)
  const refusals = brokenRatchets(
    sidesOf((side) => reviewed[side].policy),
    changes,
  )
  return { names, sameText: before === after, changes, refusals }
}

/** Throws Incomparable for policies with too many relations to compare. */
export function comparePolicies(
  reviewed: Sides<Pick<Reviewed, 'policy' | 'blocked'>>,
  circumstances: Circumstances,
): readonly PolicyDifference[] {
  const { resources, now } = circumstances
  const policies = sidesOf((side) => reviewed[side].policy)
  const blocked = sidesOf((side) => reviewed[side].blocked)
  return [
    ...compareGuarantees(policies),
    ...compareSubscriptions(policies),
    ...compareDecisions(policies, circumstances),
    ...compareRelations(policies, resources),
    ...compareConditions(policies),
    ...compareRouteViews(policies, resources),
    ...compareRoles(policies),
    ...compareLimits(policies),
    ...compareSizes(policies),
    ...compareMasks(policies),
    ...compareTrust(policies),
    ...compareBlocked(blocked, now),
  ]
}

/** A change that may go either way fails for both ways. */
export function fails(report: PolicyDiff, failOn: (typeof FAIL_ON)[number]): boolean {
  if (failOn === 'any') return report.changes.length > 0
  const counts = countsOf(report)
  return counts[failOn] + counts.either > 0
}

/** Undefined if there are changes to show. */
export function equivalence({ changes, sameText }: PolicyDiff): string | undefined {
  if (changes.length > 0) return undefined
  return sameText
    ? 'The two policies are equivalent: their files are the same.'
    : 'The two policies are equivalent: only text, comments or approvals.yaml differ.'
}

// ---- The directions of changes, in the order in which a diff reports them.

export const DIRECTIONS = ['widening', 'either', 'narrowing', 'neutral'] as const

export const HEADINGS: Readonly<Record<Direction, string>> = {
  widening: 'Widening: more is allowed',
  either: 'Either: depends on objects or callers',
  narrowing: 'Narrowing: less is allowed',
  neutral: 'Neutral: no request is decided differently',
}

export const SIGNS: Readonly<Record<Direction, string>> = { widening: '+', either: '?', narrowing: '-', neutral: '=' }

export interface DirectionSection {
  readonly heading: string
  readonly direction: Direction
  readonly changes: readonly PolicyDifference[]
}

/** What later versions must keep comes first: a change of a guarantee may be what lets the other changes pass. */
export function sectionsOf({ changes }: Pick<PolicyDiff, 'changes'>): readonly DirectionSection[] {
  const isPromise = ({ kind }: PolicyDifference) => kind === 'guarantee'
  const others = changes.filter((one) => !isPromise(one))
  return [
    { heading: 'Guarantees: what later versions must keep', direction: 'neutral', changes: changes.filter(isPromise) },
    ...DIRECTIONS.map((direction) => ({
      heading: HEADINGS[direction],
      direction,
      changes: others.filter((one) => directionOf(one) === direction),
    })),
  ]
}

export function countsOf({ changes }: PolicyDiff): Readonly<Record<Direction, number>> {
  const found = Map.groupBy(changes, directionOf)
  return Object.fromEntries(DIRECTIONS.map((one) => [one, found.get(one)?.length ?? 0])) as Record<Direction, number>
}
