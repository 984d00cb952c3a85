/** Finds every decision that differs between two policies, and groups them into changes that a person can read. */

import { TooManyRegions } from '../../../analysis/regions.ts'
import { callerWith, columnOfRoles } from '../../../decide/callers-and-routes.ts'
import { type DirectPolicy, directPolicy } from '../../../decide/grants/direct.ts'
import type { Policy } from '../../../decide/policy.ts'
import { endsOf, livingAt } from '../../../decide/rules/rule-expiry.ts'
import { coversResource } from '../../../decide/rules/terms.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import type { DecisionChange } from '../change.ts'
import { type Sides, sidesOf } from '../change.ts'
import { type ComparedCaller, comparePairs, compareSingles } from './compare-callers.ts'
import { compareQueries } from './compare-queries.ts'
import { groupFindings, type TopicFindings } from './group-findings.ts'
import { incomparable } from './incomparable.ts'
import { type Topic, topicsOf } from './topic.ts'

/** The schemas, and the time of the comparison in milliseconds since the epoch: rules and blocks may end. */
export interface Circumstances {
  readonly resources: Resources
  readonly now: number
}

/**
 * Compares at `now`, and at each later moment when a rule ends. Throws Incomparable for policies with too many relations
 * to compare.
 */
export function compareDecisions(
  policies: Sides<Policy>,
  { resources, now }: Circumstances,
): readonly DecisionChange[] {
  const callers = callersOf(policies)
  const rules = [...policies.before.rules, ...policies.after.rules]
  const listing = actionsListing(resources)
  const findings = new Map<string, readonly TopicFindings[]>()
  const spans = [now, ...endsOf(rules).filter((end) => end > now)].map((from) => {
    const living = sidesOf((side) => livingAt(policies[side], from))
    const direct = sidesOf((side) => directPolicy(living[side], resources))
    const ended = rules.filter(({ until }) => until === from)
    for (const resource of resources.byName.values()) {
      if (findings.has(resource.name) && !ended.some((rule) => coversResource(rule, resource))) continue
      const compare = () => compareResource({ living, direct }, resource, { callers, listing })
      findings.set(resource.name, bounded(compare, { living, resource }))
    }
    return { from, changes: groupFindings([...findings.values()].flat(), callers) }
  })
  return joinSpans(spans)
}

interface About {
  readonly living: Sides<Policy>
  readonly resource: Resource
}

export function bounded<T>(compare: () => T, { living, resource }: About): T {
  try {
    return compare()
  } catch (error) {
    if (!(error instanceof TooManyRegions)) throw error
    throw incomparable(living, (rule) => coversResource(rule, resource), {
      wrong: `${error.message}, more than a diff can compare`,
      mend: 'name fewer of them in these rules',
    })
  }
}

/** The actions of routes that list. */
export function actionsListing({ routes }: Resources): ReadonlySet<string> {
  const endpoints = routes.flatMap((route) => [...route.endpoints.values()])
  return new Set(endpoints.filter(({ operation }) => operation === 'list').map(({ action }) => action))
}

interface Policies {
  readonly living: Sides<Policy>
  readonly direct: Sides<DirectPolicy>
}

interface Compared {
  readonly callers: readonly ComparedCaller[]
  /** The actions of routes that list. */
  readonly listing: ReadonlySet<string>
}

function compareResource(
  { living, direct }: Policies,
  resource: Resource,
  { callers, listing }: Compared,
): readonly TopicFindings[] {
  return [...topicsOf(living, resource)].map((topic) => {
    const here = callersHere(topic, callers)
    return {
      resource: topic.resource.name,
      action: topic.action.name,
      subjects: here.map(({ name }) => name),
      singles: [
        ...compareSingles(topic, here),
        ...(listing.has(topic.action.name) ? compareQueries(direct, topic, here) : []),
      ],
      pairs: comparePairs(topic, here),
    }
  })
}

/** A user without a rule here is compared as `everyone`. */
export function callersHere(
  { bySubject: { before, after } }: Topic,
  callers: readonly ComparedCaller[],
): readonly ComparedCaller[] {
  return callers.filter(({ name }) => !name.startsWith('user:') || before.has(name) || after.has(name))
}

/** anonymous, everyone (a caller with no role), each role and each user that either policy names. */
export function callersOf(policies: Sides<Policy>): readonly ComparedCaller[] {
  const both = (names: (policy: Policy) => Iterable<string>) => {
    return [...new Set([...names(policies.after), ...names(policies.before)])]
  }
  const users = both(({ rules }) => rules.map(({ subject }) => subject).filter((name) => name.startsWith('user:')))
  const caller = (name: string, subjects: Sides<ReadonlySet<string>>): ComparedCaller => {
    return { name, subjects, caller: sidesOf((side) => callerWith(policies[side], subjects[side])) }
  }
  const same = (name: string, ...subjects: readonly string[]) => {
    return caller(
      name,
      sidesOf(() => new Set(subjects)),
    )
  }
  return [
    same('everyone', 'everyone'),
    same('anonymous', 'everyone', 'anonymous'),
    ...both(({ roles }) => roles.keys()).map((role) => {
      return caller(
        role,
        sidesOf((side) => columnOfRoles(policies[side], [role]).subjects),
      )
    }),
    ...users.map((name) => same(name, 'everyone', name)),
  ]
}

/** The changes that hold from a moment (milliseconds since the epoch) to the beginning of the next span. */
interface Span {
  readonly from: number
  readonly changes: readonly DecisionChange[]
}

/**
 * One change for all spans that it holds in. A change in the first span has no `from`, and one in the last has no
 * `until`.
 */
function joinSpans(spans: readonly Span[]): readonly DecisionChange[] {
  const keyed = spans.map(({ from, changes }) => ({
    from,
    changes: new Map(changes.map((change) => [JSON.stringify(change), change])),
  }))
  return keyed.flatMap(({ from, changes }, i) =>
    [...changes]
      .filter(([key]) => !keyed[i - 1]?.changes.has(key))
      .map(([key, change]) => {
        const until = keyed.find((later, at) => at > i && !later.changes.has(key))?.from
        return { ...change, ...(i > 0 ? { from } : {}), ...(until === undefined ? {} : { until }) }
      }),
  )
}
