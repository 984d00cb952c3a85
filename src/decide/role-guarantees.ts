/**
 * Guarantees about people (guarantees.yaml): the roles that nobody has together, and how many people may have a role. A
 * role counts as had where a role that inherits it is had.
 */

import { namesText } from '../present/quote.ts'
import { count } from '../present/text.ts'
import { type Document, textsAmong } from '../resources/object.ts'
import { inheritedBy, type Policy, USERS } from './policy.ts'

/** As they are asked: made once for a policy. */
export interface RoleGuarantees {
  readonly apart: readonly RolesApart[]
  readonly atMost: readonly AtMost[]
}

export interface RolesApart {
  readonly name: string
  readonly roles: readonly string[]
  /** For each role of the policy that gives some of them: which ones. */
  readonly givenBy: ReadonlyMap<string, ReadonlySet<string>>
}

/** A users record; undefined before there is one. */
type WithRoles = Document | undefined

function rolesIn(record: WithRoles): readonly string[] {
  return textsAmong(record?.roles)
}

/** Plain data. */
export interface AtMost {
  readonly name: string
  readonly role: string
  readonly people: number
  /** The roles that give it, itself among them. */
  readonly givers: readonly string[]
}

export function roleGuaranteesOf(policy: Pick<Policy, 'roles' | 'links' | 'roleGuarantees'>): RoleGuarantees {
  const [apart, atMost]: [RolesApart[], AtMost[]] = [[], []]
  for (const { place, ...one } of policy.roleGuarantees) {
    const asked = new Set(one.kind === 'roles-apart' ? one.roles : [one.role])
    const given = [...policy.roles.keys()].map((role) => [role, inheritedBy(policy, role).intersection(asked)] as const)
    const givenBy = new Map(given.filter(([, roles]) => roles.size > 0))
    if (one.kind === 'roles-apart') apart.push({ ...one, givenBy })
    else atMost.push({ ...one, givers: [...givenBy.keys()] })
  }
  return { apart, atMost }
}

/** Those whose role somebody has after a write and had not before: the only ones that the write can break. */
export function boundsOf(atMost: readonly AtMost[], after: WithRoles, before: WithRoles): readonly AtMost[] {
  const gives = ({ givers }: AtMost, record: WithRoles) => rolesIn(record).some((role) => givers.includes(role))
  return atMost.filter((one) => gives(one, after) && !gives(one, before))
}

/** For operators, who may read the policy. */
export function atMostSentence({ name, role, people }: AtMost): string {
  return `at most ${count(people, 'person', 'people')} may have the role \`${role}\` (guarantee \`${name}\`); take it from somebody first`
}

/** The roles of the guarantee that somebody with these roles has, in its order. */
export function hadOf({ roles: apart, givenBy }: RolesApart, roles: readonly string[]): ReadonlySet<string> {
  return new Set(apart.filter((one) => roles.some((role) => givenBy.get(role)?.has(one))))
}

/** Those of the roles that count for nobody who has all of them: each that gives a role which is kept apart from another. */
export function rolesLost(apart: readonly RolesApart[], roles: readonly string[]): readonly string[] {
  const broken = apart.filter((one) => hadOf(one, roles).size > 1)
  return broken.length === 0 ? [] : roles.filter((role) => broken.some(({ givenBy }) => givenBy.has(role)))
}

/** A guarantee that a write would break, and the roles that somebody would have together. */
type BrokenApart = Omit<RolesApart, 'givenBy'>

/** Why a program that changes users records must not; undefined if it may. Migrations use it. */
export function refusalOfChange({ apart, atMost }: RoleGuarantees) {
  return (resource: string, after: WithRoles, before: WithRoles): string | undefined => {
    if (resource !== USERS) return undefined
    const [broken, [bound]] = [brokenApart(apart, after, before), boundsOf(atMost, after, before)]
    // A batch of a migration counts nobody.
    if (bound) return `a migration gives nobody the role \`${bound.role}\`: ${atMostSentence(bound)}`
    return broken && apartSentence(broken)
  }
}

/** For operators, who may read the policy. */
export function apartSentence({ name, roles }: BrokenApart): string {
  return `nobody may have the roles ${namesText(roles, ' and ')} together (guarantee \`${name}\`); give at most one of them`
}

/** A write may leave what was so before, and take away: it breaks a guarantee only by a role that it gives. */
export function brokenApart(
  apart: readonly RolesApart[],
  after: WithRoles,
  before: WithRoles,
): BrokenApart | undefined {
  for (const one of apart) {
    const roles = hadOf(one, rolesIn(after))
    if (roles.size > 1 && !roles.isSubsetOf(hadOf(one, rolesIn(before)))) return { name: one.name, roles: [...roles] }
  }
  return undefined
}
