/**
 * What a matrix is made of, for a reader who has only the paper: who holds each role, what relations, views and
 * conditions mean, and what ends when.
 */
import { rulePlace } from '../../decide/evidence.ts'
import type { Policy, Role } from '../../decide/policy.ts'
import { kindOf } from '../../decide/relations/all-kinds.ts'
import { describeCondition } from '../../decide/request-conditions/all-conditions.ts'
import { lives } from '../../decide/rules/rule-table.ts'
import type { ApiKey, Person } from '../../store/directory.ts'
import type { LoadedPolicy } from '../load-policy.ts'

/** A person or a machine that holds roles, as the directory says. */
export interface Holder {
  /** What people know it by; the id if it has no name. */
  readonly name: string
  readonly id: string
  readonly roles: readonly string[]
  /** Its credentials are refused. */
  readonly disabled: boolean
}

export interface Background {
  readonly roles: readonly (Role & { readonly inherits: readonly string[] })[]
  /** By resource, in the order of ownership.yaml. */
  readonly relations: readonly Meant[]
  /** By resource: the fields of each view, sorted. */
  readonly views: readonly Meant[]
  readonly conditions: readonly Omit<Meant, 'resource'>[]
  /** Rules and blocks that end, the next one first. */
  readonly ends: readonly End[]
  /** The users that are blocked without an end. */
  readonly blocked: readonly string[]
}

interface Meant {
  readonly resource: string
  readonly name: string
  readonly meaning: string
}

interface End {
  /** Milliseconds since the epoch. */
  readonly until: number
  readonly what: string
}

/** Keys that have ended hold nothing. */
export function holdersOf(people: readonly Person[], keys: readonly ApiKey[], now: number): readonly Holder[] {
  const living = keys.filter(({ revokedAt, expiresAt }) => revokedAt === null && now < expiresAt)
  return [
    ...people.map(({ id, name, roles, account }) => ({
      name: name || id,
      id,
      roles,
      disabled: account?.disabled ?? false,
    })),
    ...living.map(({ id, subject, roles }) => ({ name: subject, id: `API key ${id}`, roles, disabled: false })),
  ]
}

/** About these resources alone. */
export function backgroundOf(
  { policy, blocked }: Pick<LoadedPolicy, 'policy' | 'blocked'>,
  resources: ReadonlySet<string>,
  now: number,
): Background {
  const named = <T>(all: ReadonlyMap<string, T>) => [...all].filter(([resource]) => resources.has(resource))
  return {
    roles: [...policy.roles.values()].map((role) => ({ ...role, inherits: inheritedBy(policy, role) })),
    relations: named(policy.ownership).flatMap(([resource, { relations }]) =>
      [...relations].map(([name, relation]) => ({
        resource,
        name,
        meaning: kindOf(relation).describe(relation),
      })),
    ),
    views: named(policy.views).flatMap(([resource, views]) =>
      [...views].map(([name, fields]) => ({ resource, name, meaning: [...fields].sort().join(', ') })),
    ),
    conditions: [...policy.conditions].map(([name, one]) => ({ name, meaning: describeCondition(one) })),
    ends: endsAfter({ policy, blocked }, now),
    blocked: [...blocked.values()].filter(({ until }) => until === undefined).map(({ id }) => `user:${id}`),
  }
}

function inheritedBy({ links }: Policy, { name }: Role): readonly string[] {
  return links.filter(({ role }) => role === name).map(({ inherits }) => inherits)
}

function endsAfter({ policy, blocked }: Pick<LoadedPolicy, 'policy' | 'blocked'>, now: number): readonly End[] {
  const rules = policy.rules.map(({ until, line }) => ({ until, what: `the rule ${rulePlace(line)}` }))
  const blocks = [...blocked.values()].map(({ until, id }) => ({ until, what: `the block of user:${id}` }))
  return [...rules, ...blocks]
    .flatMap(({ until, what }) => (until !== undefined && lives({ until }, now) ? [{ until, what }] : []))
    .toSorted((a, b) => a.until - b.until)
}
