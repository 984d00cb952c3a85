/** What a request must be so that exactly the conditions of its cell hold, as far as a target can make it so. */
import { type DirectPolicy, directPolicy } from '../../../decide/grants/direct.ts'
import { conditionHolds, type RequestCondition } from '../../../decide/request-conditions/all-conditions.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import { namesText } from '../../../present/quote.ts'
import { actionsAbout, requestFixture } from '../fixture/request-fixture.ts'
import type { Suite } from '../predict/suite.ts'
import { callerIn, type Expectation } from '../read/expectation.ts'
import { CannotSetUp } from './test-target.ts'

/** An address for documentation (RFC 5737), where a cell doesn't ask for another one. */
const ELSEWHERE = '203.0.113.254'

/** The rules that say which conditions count for a caller. */
export interface RulesOfRun {
  readonly suite: Suite
  readonly grants: DirectPolicy
}

export function rulesOfRun(suite: Suite): RulesOfRun {
  return { suite, grants: directPolicy(suite.policy, suite.resources) }
}

interface WantedRequest {
  /** Those that rules about the request name for this caller, and those that the cell names. */
  readonly conditions: readonly RequestCondition[]
  readonly when: ReadonlySet<string>
  readonly hasCredentials: boolean
}

/** On a server of the run. Undefined if no condition counts. Throws CannotSetUp. */
export function trialFacts(rules: RulesOfRun, expectation: Expectation, now: number): ConditionFacts | undefined {
  const wanted = wantedBy(rules, expectation)
  if (wanted.conditions.length === 0) return undefined
  const found = solve(wanted, now)
  // Every request has an address.
  const facts = { ...found, address: found.address ?? ELSEWHERE }
  if (!isAsWanted(wanted, facts)) throw unmet(wanted)
  if (facts.credential === 'provider')
    throw new CannotSetUp(`the run makes no tokens of an OpenID provider, which ${textOf(wanted)} needs`)
  return facts
}

/** At a deployment, whose clock and network can't be changed. `canSignIn`: whether the run makes the tokens. */
export function deploymentFacts(
  rules: RulesOfRun,
  expectation: Expectation,
  { now, canSignIn }: { readonly now: number; readonly canSignIn: boolean },
): ConditionFacts | undefined {
  const wanted = wantedBy(rules, expectation)
  const { conditions } = wanted
  const namesOf = (kinds: readonly string[]) =>
    namesText(conditions.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name))
  if (conditions.length === 0) return undefined
  if (namesOf(['network']) !== '')
    throw new CannotSetUp(`the run can't choose its address at the server, which ${namesOf(['network'])} depends on`)
  if (namesOf(['signedIn', 'credential']) !== '' && !canSignIn && wanted.hasCredentials)
    throw new CannotSetUp(
      `the run doesn't know how the callers of --tokens signed in, which ${namesOf(['signedIn', 'credential'])} depends on`,
    )
  const facts = solve(wanted, now)
  if (facts.now !== now)
    throw new CannotSetUp(`the run can't set the clock of the server, which ${namesOf(['hours'])} depends on`)
  if (facts.credential !== undefined && facts.credential !== 'password')
    throw new CannotSetUp(
      `the run can't make the credential at this server, which ${namesOf(['credential'])} depends on`,
    )
  return facts
}

function wantedBy(
  { suite: { policy, resources }, grants }: RulesOfRun,
  { path, method, when = [], column }: Expectation,
): WantedRequest {
  const route = resources.routes.find((one) => one.path === path)
  const resource = resources.byName.get(route?.resource ?? '')
  const subject = grants.subjectOf(callerIn(column))
  const endpoint = route?.endpoints.get(method)
  const actions = resource ? actionsAbout(policy, resource, endpoint) : []
  const tables = actions.map(({ name }) => grants.table(subject, resource?.name ?? '', name))
  const named = new Set([...tables.flatMap(({ conditions }) => conditions), ...when])
  return {
    conditions: [...named].flatMap((name) => policy.conditions.get(name) ?? []),
    when: new Set(when),
    hasCredentials: column.kind !== 'anonymous',
  }
}

function solve(wanted: WantedRequest, now: number): ConditionFacts {
  const { conditions, when, hasCredentials } = wanted
  const facts = requestFixture(conditions, when, { now, hasCredentials })
  if (!facts) throw unmet(wanted)
  return facts
}

function unmet(wanted: WantedRequest): CannotSetUp {
  const { conditions, when, hasCredentials } = wanted
  const signedIn = conditions.filter(
    ({ kind, name }) => when.has(name) && (kind === 'signedIn' || kind === 'credential'),
  )
  if (hasCredentials || signedIn.length === 0) return new CannotSetUp(`no request meets ${textOf(wanted)}`)
  const needing = namesText(
    signedIn.map(({ name }) => name),
    ' and ',
  )
  return new CannotSetUp(`a caller without credentials has no sign-in, which ${needing} needs: write \`-\``)
}

function isAsWanted({ conditions, when }: WantedRequest, facts: ConditionFacts): boolean {
  return conditions.every((condition) => conditionHolds(condition, facts) === when.has(condition.name))
}

function textOf({ conditions, when }: WantedRequest): string {
  const others = conditions.map(({ name }) => name).filter((name) => !when.has(name))
  const terms = [...when, ...others.map((name) => `!${name}`)]
  return namesText(terms, ' and ')
}
