/** Finds every decision that differs between two policies, and groups them into changes that a person can read. */
import { type DirectPolicy, directPolicy } from '../../decide/grants/direct.ts'
import type { Policy, Rule } from '../../decide/policy.ts'
import { endsOf, livingAt } from '../../decide/rules/rule-table.ts'
import { coversResource, isAbout, namesIn } from '../../decide/rules/terms.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import {
  type ChangedCaller,
  type ComparedCaller,
  callersHere,
  callersOf,
  changedCallers,
  comparisonsOf,
  touchedActions,
} from '../compare.ts'
import { type Sides, sidesOf, TooManyNames, type Topic, topicsOf } from '../compared-space.ts'
import { TooManyRegions } from '../regions.ts'
import type { DecisionChange } from './change.ts'
import { compareGrants } from './compare-grants.ts'
import { changesQueries, compareQueries } from './compare-queries.ts'
import { groupFindings, type TopicFindings } from './group-findings.ts'

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
  const spans = spansFrom(policies, { resources, now })
  const first = spans.findLastIndex(({ from }) => from <= now)
  return joinSpans(spans.slice(first))
}

/** By the later version: whoever judges it and whoever tells what it changes compare the same two. */
const known = new WeakMap<
  Policy,
  Circumstances & { readonly before: WeakRef<Policy>; readonly spans: readonly ChangesFrom[] }
>()

/** Begins at `now`, or earlier. */
function spansFrom(policies: Sides<Policy>, { resources, now }: Circumstances): readonly ChangesFrom[] {
  const { before, after } = policies
  const made = known.get(after)
  if (made?.before.deref() === before && made.resources === resources && made.now <= now) return made.spans
  const callers = callersOf(policies)
  const listing = actionsListing(resources)
  const touched = [...resources.byName.values()].flatMap((resource) =>
    touchedActions(policies, resource).map((action) => ({ resource, action })),
  )
  const isTouched = (rule: Rule) => touched.some((about) => isAbout(rule, about))
  const compared = sidesOf((side) => ({ ...policies[side], rules: policies[side].rules.filter(isTouched) }))
  const findings = new Map<string, readonly TopicFindings[]>()
  const spans = [
    ...policiesFrom(compared, { resources, now }).map(({ from, ended, living, direct }) => {
      for (const { resource, action } of touched) {
        const key = `${resource.name} ${action.name}`
        if (findings.has(key) && !ended.some((rule) => isAbout(rule, { resource, action }))) continue
        const compare = () => compareAction({ living, direct }, { resource, action }, { callers, listing })
        findings.set(key, bounded(compare, { living, resource }))
      }
      return { from, changes: groupFindings([...findings.values()].flat(), callers) }
    }),
  ]
  known.set(after, { before: new WeakRef(before), resources, now, spans })
  return spans
}

/** The policies now, and whenever rules of them end. */
function* policiesFrom(policies: Sides<Policy>, { resources, now }: Circumstances) {
  const rules = [...policies.before.rules, ...policies.after.rules]
  for (const from of [now, ...endsOf(rules).filter((end) => end > now)]) {
    const living = sidesOf((side) => livingAt(policies[side], from))
    const direct = sidesOf((side) => directPolicy(living[side], resources))
    yield { from, ended: rules.filter(({ until }) => until === from), living, direct }
  }
}

interface ResourceInBoth {
  readonly living: Sides<Policy>
  readonly resource: Resource
}

/** Throws Incomparable for what can't be compared: it names the line with the most names, of the new policy if possible. */
function bounded<T>(compare: () => T, { living, resource }: ResourceInBoth): T {
  try {
    return compare()
  } catch (error) {
    if (!(error instanceof TooManyRegions)) throw error
    const isOfAction = error instanceof TooManyNames
    const place = placeOfLongest(living, (rule) =>
      isOfAction ? isAbout(rule, { resource, action: error.action }) : coversResource(rule, resource),
    )
    throw new Incomparable(
      isOfAction
        ? `${error.message}${place}: name fewer ${error.what} in these rules`
        : `${error.message}, more than a diff can compare${place}: name fewer of them in these rules`,
    )
  }
}

/** The message is one sentence for whoever compares the policies. */
export class Incomparable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Incomparable'
  }
}

function placeOfLongest(policies: Sides<Policy>, isMeant: (rule: Rule) => boolean): string {
  const rules = (['after', 'before'] as const).flatMap((side) =>
    policies[side].rules.filter(isMeant).map((rule) => ({ side, line: rule.line, names: namesIn(rule).length })),
  )
  const [first] = rules.toSorted((a, b) => b.names - a.names)
  if (!first) return ''
  const which = first.side === 'before' ? 'the old policy' : 'the new policy'
  return ` (such as line ${first.line} of policy.csv in ${which})`
}

/** The actions of routes that list. */
function actionsListing({ routes }: Resources): ReadonlySet<string> {
  const endpoints = routes.flatMap((route) => [...route.endpoints.values()])
  return new Set(endpoints.filter(({ operation }) => operation === 'list').map(({ action }) => action))
}

interface Policies {
  readonly living: Sides<Policy>
  readonly direct: Sides<DirectPolicy>
}

interface ComparedCallers {
  readonly callers: readonly ComparedCaller[]
  /** The actions of routes that list. */
  readonly listing: ReadonlySet<string>
}

/** By its own rules alone: a change of those about what a command needs besides is told once, and not for each command. */
function compareAction(
  { living, direct }: Policies,
  { resource, action }: Pick<Topic, 'resource' | 'action'>,
  { callers, listing }: ComparedCallers,
): readonly TopicFindings[] {
  const { also: _, ...own } = action
  return [...topicsOf(living, resource, [own])].map((topic) => {
    const here = callersHere(topic, callers)
    const found = [...comparisonsOf(topic, here)].map((one) => ({ one, changes: compareGrants(topic, one) }))
    const byCallers = (count: number) => found.filter(({ one }) => one.callers.length === count)
    return {
      resource: topic.resource.name,
      action: topic.action.name,
      subjects: here.map(({ name }) => name),
      singles: [
        ...byCallers(1).flatMap(({ changes }) => changes),
        ...(listing.has(topic.action.name) ? compareQueries(direct, topic, here) : []),
      ],
      pairs: byCallers(2).flatMap(({ changes }) => changes),
    }
  })
}

/** The changes that hold from a moment (milliseconds since the epoch) to the beginning of the next span. */
interface ChangesFrom {
  readonly from: number
  readonly changes: readonly DecisionChange[]
}

/**
 * One change for all spans that it holds in. A change in the first span has no `from`, and one in the last has no
 * `until`.
 */
function joinSpans(spans: readonly ChangesFrom[]): readonly DecisionChange[] {
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

// ---- Where two policies decide differently: one action of a resource and one caller at a time. Nothing at all is
// the proof that no decision differs: the regions hold every set of relations and conditions, and
// analysis/compare.ts says why two subjects at a time are enough.

/** `changed` is empty if no object shows the difference: only the role level, or what a list may be filtered by. */
export interface ChangedDecision extends ChangedCaller {
  readonly topic: Topic
}

/** The policies are compared at `now`, and whenever a rule ends. Throws Incomparable as `compareDecisions` does. */
export function* changedDecisions(
  policies: Sides<Policy>,
  { resources, now }: Circumstances,
  covers: (resource: string) => boolean,
): Generator<ChangedDecision, undefined> {
  const listing = actionsListing(resources)
  const touched = [...resources.byName.values()]
    .filter(({ name }) => covers(name))
    .map((resource) => [resource, touchedActions(policies, resource)] as const)
  for (const { living, direct } of policiesFrom(policies, { resources, now })) {
    const callers = callersOf(living)
    for (const [resource, actions] of touched) {
      const compare = () =>
        [...topicsOf(living, resource, actions)].flatMap((topic) => changedIn(topic, callers, { direct, listing }))
      yield* bounded(compare, { living, resource })
    }
  }
  return undefined
}

interface BothDirect {
  readonly direct: Sides<DirectPolicy>
  readonly listing: ReadonlySet<string>
}

function changedIn(
  topic: Topic,
  callers: readonly ComparedCaller[],
  { direct, listing }: BothDirect,
): readonly ChangedDecision[] {
  const here = callersHere(topic, callers)
  const found = [...changedCallers(topic, here)].map((one) => ({ ...one, topic }))
  if (found.length > 0 || !listing.has(topic.action.name)) return found
  return here
    .filter((caller) => changesQueries(direct, topic, caller))
    .map((caller) => ({ topic, callers: [caller], changed: [] }))
}
