/** The directory as a server sees it: people also have the roles that they were given for a time (`access grants`). */
import { onceKnown } from '../../base/now-or-later.ts'
import { timeText } from '../../base/time.ts'
import { grantsTo, type RoleGrant, type RoleGrants } from '../../decide/caller.ts'
import type { OpenedStore } from '../../store/contract.ts'
import type { Directory } from '../../store/directory.ts'
import type { PastObjects } from './past-objects.ts'

export type AccessDirectory = Pick<Directory, 'accountStatus' | 'keyStatus' | 'people' | 'keys'>

export interface AccessOpened {
  readonly store: OpenedStore['store']
  readonly directory: AccessDirectory
  readonly changes: OpenedStore['changes']
  /** For a time in the past. */
  readonly past: PastObjects | undefined
  /** Roles for a time. */
  readonly grants: RoleGrants
}

/** API keys don't get them. Who has no users record is a person as long as it has such a role. */
export function withGrantedRoles(directory: AccessDirectory, grants: RoleGrants, now: number): AccessDirectory {
  const rolesOf = (id: string) => grantsTo(grants, id, now).map(({ role }) => role)
  const together = (id: string, roles: readonly string[] = []) => [...new Set([...roles, ...rolesOf(id)])]
  return {
    keyStatus: (id) => directory.keyStatus(id),
    keys: () => directory.keys(),
    accountStatus: (id) =>
      onceKnown(directory.accountStatus(id), (status) =>
        rolesOf(id).length === 0 ? status : { ...status, roles: together(id, status.roles) },
      ),
    people: async () => {
      const people = (await directory.people()).map((one) => ({ ...one, roles: together(one.id, one.roles) }))
      const known = new Set(people.map(({ id }) => id))
      const others = [...grants.keys()].filter((id) => !known.has(id) && rolesOf(id).length > 0)
      return [...people, ...others.map((id) => ({ id, email: '', name: '', roles: rolesOf(id), account: undefined }))]
    },
  }
}

/** A role for a time, as reports show it. */
export interface ReportedGrant {
  readonly grant: number
  readonly kind: RoleGrant['kind']
  readonly role: string
  readonly until: string
  readonly signedBy: readonly string[]
}

export function reportedGrants(grants: RoleGrants, id: string, now: number): readonly ReportedGrant[] {
  return grantsTo(grants, id, now).map(({ number, kind, role, until, signedBy }) => {
    return { grant: number, kind, role, until: timeText(until), signedBy }
  })
}

/** `admin until 2027-01-31T18:00:00Z by ada (break-glass 3)` */
export function grantText({ grant, kind, role, until, signedBy }: ReportedGrant): string {
  return `${role} until ${until} by ${signedBy.join(' and ')} (${kind} ${grant})`
}
