/** Ratchets: what the next version of a policy may not do to a resource, by the diff of the two versions. */
import type { Diagnostic } from '../../base/diagnostic.ts'
import type { Policy, Ratchet } from '../../decide/policy.ts'
import { type Phrase, plainText, say } from '../../present/phrase.ts'
import type { Sides } from '../compared-space.ts'
import { changeSentence, directionOf, type PolicyDifference } from './change.ts'

/** A guarantee about changes that a new version breaks. */
export interface BrokenRatchet {
  readonly said: Phrase
  /** At the guarantee. */
  readonly fault: Diagnostic
}

/** Those of the ratchets that both versions have. */
export function brokenRatchets(
  policies: Sides<Policy>,
  changes: readonly PolicyDifference[],
): readonly BrokenRatchet[] {
  return keptRatchets(policies).flatMap((one) => brokenBy(one, changes))
}

/** Whoever changes or removes a ratchet may change what it is about: the diff says so first. */
export function keptRatchets({ before, after }: Sides<Policy>): readonly Ratchet[] {
  const textOf = ({ place: _, ...said }: Ratchet) => JSON.stringify(said)
  const former = new Set(before.ratchets.map(textOf))
  return after.ratchets.filter((one) => former.has(textOf(one)))
}

function brokenBy(ratchet: Ratchet, changes: readonly PolicyDifference[]): readonly BrokenRatchet[] {
  const { name, place, never, resource } = ratchet
  const [first, ...more] = changes.filter((one) => isForbidden(ratchet, one))
  if (!first) return []
  const others = more.length === 0 ? [] : say`, and ${more.length} more`
  const verb = never === 'widen' ? say`widen` : say`narrow`
  const said = say`this version breaks the guarantee ${name}: it may not ${verb} ${resource}, but ${changeSentence(first)}${others}`
  const hint = 'take the change back, or change the guarantee in the same version'
  const fault = { ...place, code: 'guarantee-broken', severity: 'error', message: plainText(said), hint } as const
  return [{ said, fault }]
}

/** They decide nothing about objects, or are about people. */
export const ABOUT_NO_RESOURCE: ReadonlySet<PolicyDifference['kind']> = new Set([
  'role',
  'privileged',
  'limit',
  'limit-role',
  'body-size',
  'object-size',
  'answer-size',
  'page-size',
  'blocked',
  'mask',
  'guarantee',
])

/** A change that may go either way may go the forbidden way. Conditions, and who has a role, are about all resources. */
function isForbidden({ never, resource, actions }: Ratchet, change: PolicyDifference): boolean {
  const direction = directionOf(change)
  const isWay = direction === 'either' || direction === (never === 'widen' ? 'widening' : 'narrowing')
  if (!isWay || ABOUT_NO_RESOURCE.has(change.kind)) return false
  if (change.kind !== 'decision') return change.resource === undefined || change.resource === resource
  const isMeant = actions === undefined || change.actions.some((name) => actions.includes(name))
  return isMeant && change.resources.includes(resource)
}
