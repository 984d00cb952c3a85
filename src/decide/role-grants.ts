/** Roles that callers have until a time, beside those that their credentials give (docs/approvals.md). */
import type { Caller, RoleGrant } from './caller.ts'
import { credentialKindOf } from './request-conditions/conditions-now.ts'

/** By the id of the caller. */
export type RoleGrants = ReadonlyMap<string, readonly RoleGrant[]>

/** For a record: the numbers of the grants that give the caller roles, and of the one that somebody must review. */
export function grantNumbers(caller: Caller | undefined): {
  readonly grants?: readonly number[]
  readonly breakGlass?: number
} {
  const { granted = [] } = caller ?? {}
  if (granted.length === 0) return {}
  const broken = granted.find(({ kind }) => kind === 'break-glass')
  return { grants: granted.map(({ number }) => number), ...(broken && { breakGlass: broken.number }) }
}

/** The grants of a caller that count at a time in milliseconds since the epoch. */
export function grantsTo(grants: RoleGrants | undefined, id: string, now: number): readonly RoleGrant[] {
  return grants?.get(id)?.filter(({ until }) => now < until) ?? []
}

/** An API key has the roles that it was made with, and no others. */
export function withGrants(caller: Caller, grants: RoleGrants | undefined, now: number): Caller {
  const granted = grantsTo(grants, caller.id, now)
  if (granted.length === 0 || credentialKindOf(caller) === 'api-key') return caller
  const roles = new Set([...caller.roles, ...granted.map(({ role }) => role)])
  return Object.freeze({ ...caller, roles: Object.freeze([...roles]), granted })
}
