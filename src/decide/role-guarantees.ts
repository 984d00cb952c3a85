/**
 * Guarantees about people (guarantees.yaml): the roles that nobody has together. A role counts as had where a role that
 * inherits it is had.
 */
import { namesText } from '../present/quote.ts'
import { type Document, textsAmong } from '../resources/object.ts'
import { inheritedBy } from './callers-and-routes.ts'
import { type Policy, USERS } from './policy.ts'

/** A guarantee as it is asked: made once for a policy. */
export interface RolesApart {
  readonly name: string
  readonly roles: readonly string[]
  /** For each role of the policy that gives some of them: which ones. */
  readonly givenBy: ReadonlyMap<string, ReadonlySet<string>>
}

export function rolesApartOf(policy: Pick<Policy, 'roles' | 'links' | 'roleGuarantees'>): readonly RolesApart[] {
  return policy.roleGuarantees.flatMap((one) => {
    if (one.kind !== 'roles-apart') return []
    const given = [...policy.roles.keys()].map((role) => {
      return [role, inheritedBy(policy, role).intersection(new Set(one.roles))] as const
    })
    return [{ ...one, givenBy: new Map(given.filter(([, roles]) => roles.size > 0)) }]
  })
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
export interface BrokenApart {
  readonly name: string
  readonly roles: readonly string[]
}

/** Why a program that changes users records must not; undefined if it may. Migrations use it. */
export function refusalOfChange(apart: readonly RolesApart[]) {
  return (resource: string, after: Document, before: Document): string | undefined => {
    const broken = resource === USERS && brokenApart(apart, textsAmong(after.roles), textsAmong(before.roles))
    return broken ? apartSentence(broken) : undefined
  }
}

/** For operators, who may read the policy. */
export function apartSentence({ name, roles }: BrokenApart): string {
  return `nobody may have the roles ${namesText(roles, ' and ')} together (guarantee \`${name}\`); give at most one of them`
}

/** A write may leave what was so before, and take away: it breaks a guarantee only by a role that it gives. */
export function brokenApart(
  apart: readonly RolesApart[],
  after: readonly string[],
  before: readonly string[] = [],
): BrokenApart | undefined {
  for (const one of apart) {
    const roles = hadOf(one, after)
    if (roles.size > 1 && !roles.isSubsetOf(hadOf(one, before))) return { name: one.name, roles: [...roles] }
  }
  return undefined
}
