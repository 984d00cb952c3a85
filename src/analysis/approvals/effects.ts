/**
 * What a change of the policy may do: the differences of its diff, and changes that the diff doesn't show, because they
 * change no decision by themselves. A change whose direction isn't proved may go either way.
 */
import { changesStored, operationsOf } from '../../decide/callers-and-routes.ts'
import { type Guarantee, type GuaranteedAct, heirsOf, type Policy, type Term, USERS } from '../../decide/policy.ts'
import { comparedAttributes, meaningOf, stepsIn } from '../../decide/relations/all-kinds.ts'
import { meaningOfCondition } from '../../decide/request-conditions/all-conditions.ts'
import { listed, type Phrase, say } from '../../present/phrase.ts'
import type { Resources } from '../../resources/resource.ts'
import { type Sides, sidesOf } from '../compared-space.ts'
import { changeSentence, type DecisionChange, directionOf, type PolicyDifference } from '../diff/change.ts'
import { Incomparable } from '../diff/compare-decisions.ts'
import { comparePolicies } from '../diff/compare-policies.ts'
import { compareBlocked } from '../diff/compare-settings.ts'
import { ABOUT_NO_RESOURCE } from '../diff/ratchets.ts'
import { type ChangedPolicy, hasSameRules } from './changed-policy.ts'

export interface ApprovalEffect {
  readonly way: 'widens' | 'narrows' | 'blocks' | 'either'
  readonly sentence: Phrase
  readonly concerns: (resource: string) => boolean
}

/** Rules with an end count as if they never ended: no clock may make a change smaller. */
const BEFORE_ALL_ENDS = 0

/** The rules are compared at the end of each, 10 ms for 10,000 rules: an instance must judge a change within its time. */
const MOST_ENDS = 100

/** Throws Incomparable for policies with too many relations or ends to compare, and FileError. */
export function effectsOf(sides: Sides<ChangedPolicy>, resources: Resources): readonly ApprovalEffect[] {
  const { before, after } = sides
  // A block must not wait for rules that are the same.
  if (hasSameRules(before.files, after.files)) {
    const blocked = { before: before.blocked, after: after.blocked }
    return compareBlocked(blocked, BEFORE_ALL_ENDS).map((one) => effectOf(one, () => false))
  }
  const policies = sidesOf((side) => sides[side].policy)
  const ends = new Set([before, after].flatMap(({ policy }) => policy.rules.flatMap(({ until }) => until ?? [])))
  if (ends.size > MOST_ENDS) throw new Incomparable(`the rules have more than ${MOST_ENDS} ends`)
  const isAbout = aboutResources(policies, resources)
  return [
    ...comparePolicies(sides, { resources, now: BEFORE_ALL_ENDS }).map((one) => effectOf(one, isAbout)),
    ...changedHeirs(policies),
    ...changedGuarantees(policies),
  ]
}

function effectOf(difference: PolicyDifference, isAbout: IsAbout): ApprovalEffect {
  return {
    way: wayOf(difference),
    sentence: changeSentence(difference),
    concerns: (resource) => isAbout(difference, resource),
  }
}

// ---- Which way a difference goes ------------------------------------------------------------------------------------

/**
 * Whoever loses a role loses its denies too, and whoever may assert less is asked about as somebody else: the diff calls
 * both narrowing.
 */
const EITHER: ReadonlySet<PolicyDifference['kind']> = new Set(['role-claims', 'caller'])

/** By themselves they open nothing. The other neutral ones do: what reviews show, what later versions may, who is counted. */
const HARMLESS: ReadonlySet<PolicyDifference['kind']> = new Set(['role', 'page-size'])

function wayOf(difference: PolicyDifference): ApprovalEffect['way'] {
  const direction = EITHER.has(difference.kind) ? 'either' : directionOf(difference)
  if (direction === 'widening') return 'widens'
  if (direction === 'neutral') return HARMLESS.has(difference.kind) ? 'narrows' : 'widens'
  if (direction === 'narrowing') return difference.kind === 'blocked' ? 'blocks' : 'narrows'
  return direction
}

// ---- Which resources a difference concerns --------------------------------------------------------------------------

type IsAbout = (difference: PolicyDifference, resource: string) => boolean

function aboutResources(policies: Sides<Policy>, resources: Resources): IsAbout {
  const leaning = new Map<string, Leaning>()
  const leaningOf = (resource: string) => leaning.getOrInsertComputed(resource, () => leaningIn(policies, resource))
  return (difference, resource) => {
    if (difference.kind === 'decision') {
      if (difference.resources.includes(resource)) return true
      return difference.effect === 'gains' && feeds(difference, leaningOf(resource), resources)
    }
    const { kind, resource: own } = difference
    const named = NAMING[kind]?.(difference.name, policies)
    if (named) return named.includes(resource)
    if (ABOUT_NO_RESOURCE.has(kind)) return false
    if (own === undefined || own === resource) return true
    // Who writes other objects, and who fills their fields, may make them lead here.
    return (
      FEEDING.has(kind) && wayOf(difference) !== 'narrows' && (own === USERS || leaningOf(resource).resources.has(own))
    )
  }
}

const FEEDING: ReadonlySet<PolicyDifference['kind']> = new Set(['fill', 'owner', 'relation'])

/** The resources that a limit, a mask or a guarantee names, before or after. */
const NAMING: Partial<Record<PolicyDifference['kind'], NamedResources>> = {
  limit: limitedIn,
  'limit-role': limitedIn,
  mask: (name) => [name.split('.')[0]],
  guarantee: (name, policies) => [
    ...namedIn(policies, name, ({ guarantees }) => guarantees).flatMap(resourcesOf),
    ...namedIn(policies, name, ({ ratchets }) => ratchets).map(({ resource }) => resource),
  ],
}

type NamedResources = (name: string, policies: Sides<Policy>) => readonly (string | undefined)[]

function limitedIn(name: string, policies: Sides<Policy>): ReturnType<NamedResources> {
  return namedIn(policies, name, ({ limits }) => limits.limits).map(({ match }) => match.resource)
}

function namedIn<T extends { readonly name: string }>(
  { before, after }: Sides<Policy>,
  name: string,
  of: (policy: Policy) => readonly T[],
): readonly T[] {
  return [before, after].flatMap(of).filter((one) => one.name === name)
}

/** What the relations of a resource look at beside its own objects, and what the relations of those look at. */
interface Leaning {
  readonly resources: ReadonlySet<string>
  /** Fields of users records. */
  readonly attributes: ReadonlySet<string>
}

function leaningIn({ before, after }: Sides<Policy>, resource: string): Leaning {
  const [resources, attributes] = [new Set([resource]), new Set(['roles'])]
  // A Set's iterator also visits what is added while it runs.
  for (const name of resources) {
    for (const { ownership } of [before, after]) {
      for (const relation of ownership.get(name)?.relations.values() ?? []) {
        for (const step of stepsIn(relation)) resources.add(step.resource)
        for (const attribute of comparedAttributes(relation)) attributes.add(attribute)
      }
    }
  }
  return { resources, attributes }
}

/** Whether somebody may now write what the relations look at. */
function feeds(change: DecisionChange, { resources: others, attributes }: Leaning, resources: Resources): boolean {
  const { fields } = change
  return change.resources.some((name) => {
    const resource = resources.byName.get(name)
    const writes = resource && change.actions.some((action) => operationsOf(resource, action).some(isWrite))
    if (!writes) return false
    return others.has(name) || (name === USERS && (fields?.some((field) => attributes.has(field)) ?? true))
  })
}

function isWrite(operation: string): boolean {
  return operation === 'create' || operation === 'delete' || changesStored(operation)
}

// ---- Roles that count although no rule names them: in callers.yaml and guarantees.yaml -------------------------------

function changedHeirs(policies: Sides<Policy>): readonly ApprovalEffect[] {
  const both = [policies.before, policies.after]
  return [...new Set(both.flatMap(countedRoles))].flatMap((role): readonly ApprovalEffect[] => {
    const { before, after } = sidesOf((side) => heirsOf(policies[side], role))
    const changed = [...before.symmetricDifference(after)]
    if (changed.length === 0) return []
    const sentence = say`${listed(changed.slice(0, 3))} ${changed.length === 1 ? say`is` : say`are`} counted otherwise as ${role}`
    return [{ way: 'either', sentence, concerns: () => true }]
  })
}

function countedRoles({ callers, guarantees, roleGuarantees }: Policy): readonly string[] {
  return [
    ...[...callers.keys()].filter((name) => !name.startsWith('user:')),
    ...roleGuarantees.flatMap((one) => (one.kind === 'at-most' ? [one.role] : one.roles)),
    ...guarantees.flatMap(actsOf).flatMap(({ subjects }) => ('with' in subjects ? subjects.with : subjects.without)),
  ]
}

// ---- Guarantees with the same text, whose relations and conditions mean something else ------------------------------

function changedGuarantees({ before, after }: Sides<Policy>): readonly ApprovalEffect[] {
  const former = new Map(before.guarantees.map((one) => [one.name, meaningOfTerms(one, before)]))
  return after.guarantees.flatMap((one): readonly ApprovalEffect[] => {
    const old = former.get(one.name)
    if (old === undefined || old === meaningOfTerms(one, after)) return []
    const about = new Set(resourcesOf(one))
    const sentence = say`guarantee ${one.name} means something else`
    return [{ way: 'widens', sentence, concerns: (resource) => about.has(resource) }]
  })
}

function meaningOfTerms(guarantee: Guarantee, policy: Policy): string {
  return JSON.stringify(
    actsOf(guarantee).map(({ resource, terms }) =>
      [...(terms?.before ?? []), ...(terms?.after ?? [])].map((term) => meaningOfTerm(term, resource, policy)),
    ),
  )
}

function meaningOfTerm({ name }: Term, resource: string, { conditions, ownership }: Policy): string {
  const [condition, relation] = [conditions.get(name), ownership.get(resource)?.relations.get(name)]
  if (condition) return meaningOfCondition(condition)
  return relation ? meaningOf(relation) : ''
}

function resourcesOf(guarantee: Guarantee): readonly string[] {
  return actsOf(guarantee).map(({ resource }) => resource)
}

function actsOf(guarantee: Guarantee): readonly GuaranteedAct[] {
  return guarantee.kind === 'apart' ? guarantee.acts : [guarantee]
}
