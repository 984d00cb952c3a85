/** Callers as the policy sees them: the subjects that some rule names, inherited ones included. */
import { LRUCache } from 'lru-cache'
import type { Caller } from '../caller.ts'
import type { Policy, Role } from '../policy.ts'
import { type RoleGuarantees, roleGuaranteesOf, rolesLost } from '../role-guarantees.ts'
import type { GrantTable } from './grant-table.ts'

/** A caller as the policy sees it: the subjects of semantics.md that some rule names, inherited ones included. */
export interface Subject {
  /** Undefined without credentials. */
  readonly caller: Caller | undefined
  /** The subjects that rules name, sorted. */
  readonly names: readonly string[]
  /** The declared roles that the caller holds or inherits. */
  readonly roles: ReadonlySet<string>
  /** The roles that a guarantee keeps apart, so that the caller has none of them; absent if there are none. */
  readonly lost?: readonly string[]
  /**
   * The tables by resource and action; subjects with the same names share them, so the names needn't be part of the
   * key.
   */
  readonly tables: SubjectTables
}

type SubjectTables = Map<string, Map<string, GrantTable | Promise<GrantTable>>>

export interface NamedSubjects {
  /** Whether some rule names the subject. */
  names(subject: string): boolean
  /** All that rules name, sorted. */
  readonly subjects: readonly string[]
}

/**
 * The sets of names whose tables are kept: those asked for last. Tokens and PEPs bring ever new sets, and the
 * tables of one take some tens of kilobytes.
 */
const MOST_KEPT = 2000

export class Subjects {
  readonly #rules: NamedSubjects
  readonly #inherited: ReadonlyMap<string, ReadonlySet<string>>
  /** By the names of a subject: one subject with these names, and with all its tables. */
  readonly #known = new LRUCache<string, Subject>({
    // A cache with `max` would allocate its memory at once, and tools make many snapshots.
    maxSize: MOST_KEPT,
    sizeCalculation: () => 1,
    dispose: ({ tables }) => {
      for (const byAction of tables.values()) for (const table of byAction.values()) release(table)
    },
  })
  /** A credential that was seen before is the same caller again. */
  readonly #made = new WeakMap<Caller, Subject>()
  /** By what an OpenID provider may say of a caller. */
  readonly #claimed: ReadonlyMap<string, readonly Role[]>
  readonly guarantees: RoleGuarantees
  readonly #vouchedFor = new WeakMap<Caller, Caller>()

  constructor(policy: Pick<Policy, 'roles' | 'links' | 'roleGuarantees'>, rules: NamedSubjects) {
    this.#rules = rules
    this.#inherited = closures(policy)
    this.#claimed = claimedRoles(policy)
    this.guarantees = roleGuaranteesOf(policy)
  }

  /** One subject for each set of names that is kept. */
  get known(): readonly Subject[] {
    return [...this.#known.values()]
  }

  /** The caller with the roles that its claims give it: only claims that roles.yaml names, whatever their spelling. */
  withRoles(caller: Caller): Caller {
    const known = this.#vouchedFor.get(caller)
    if (known) return known
    const given = caller.provided?.flatMap((value) => this.#claimed.get(value) ?? []) ?? []
    const roles = new Set([...caller.roles, ...given.map(({ name }) => name)])
    const made = Object.freeze({ ...caller, roles: Object.freeze([...roles]) })
    this.#vouchedFor.set(caller, made)
    return made
  }

  /** The same subject for the same caller. A role that nobody declared grants nothing. */
  of(caller: Caller | undefined): Subject {
    const known = caller && this.#made.get(caller)
    if (known) return known
    const subject = this.#makeSubject(caller)
    if (caller) this.#made.set(caller, subject)
    return subject
  }

  #makeSubject(caller: Caller | undefined): Subject {
    const roles = new Set<string>()
    const { apart } = this.guarantees
    const lost = caller && apart.length > 0 ? rolesLost(apart, claimedBy(caller)) : []
    for (const role of caller?.roles ?? []) {
      if (lost.includes(role)) continue
      for (const inherited of this.#inherited.get(role) ?? []) roles.add(inherited)
    }
    const names = ['everyone', caller ? `user:${caller.id}` : 'anonymous', ...roles]
    const subject = this.#subjectWith(caller, roles, names.filter((name) => this.#rules.names(name)).sort())
    return lost.length === 0 ? subject : { ...subject, lost }
  }

  /** All subjects that rules name together: its tables contain every grant to anybody. No real caller has them all. */
  get anybody(): Subject {
    return this.#subjectWith(undefined, new Set(this.#inherited.keys()), this.#rules.subjects)
  }

  #subjectWith(caller: Caller | undefined, roles: ReadonlySet<string>, names: readonly string[]): Subject {
    const key = JSON.stringify(names)
    const subject = { caller, roles, names, tables: this.#known.get(key)?.tables ?? new Map() }
    if (!this.#known.has(key)) this.#known.set(key, subject)
    return subject
  }
}

/** With those of the users record: a person who has lost a role doesn't have it by a key either. */
function claimedBy({ roles, recordRoles = [] }: Caller): readonly string[] {
  return [...new Set([...roles, ...recordRoles])]
}

/** A table that is still being made has no cells. */
function release(table: GrantTable | Promise<GrantTable>): void {
  if (!(table instanceof Promise)) table.release()
}

function claimedRoles({ roles }: Pick<Policy, 'roles'>): ReadonlyMap<string, readonly Role[]> {
  const pairs = [...roles.values()].flatMap((role) => role.claims.map((value) => ({ role, value })))
  const byValue = Map.groupBy(pairs, ({ value }) => value)
  return new Map([...byValue].map(([value, found]) => [value, found.map(({ role }) => role)]))
}

/** Each role with all that it inherits, itself included. Casbin would cut a chain at ten links, in silence. */
function closures({ roles, links }: Pick<Policy, 'roles' | 'links'>): ReadonlyMap<string, ReadonlySet<string>> {
  const parents = Map.groupBy(links, (link) => link.role)
  const closure = (role: string): ReadonlySet<string> => {
    const reached = new Set([role])
    // A Set's iterator also visits what is added while it runs.
    for (const name of reached) for (const link of parents.get(name) ?? []) reached.add(link.inherits)
    return reached
  }
  return new Map([...roles.keys()].map((role) => [role, closure(role)]))
}
