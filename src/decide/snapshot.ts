/** One policy in force: immutable, used by every request, replaced as a whole when the files change. */

import { onceKnown } from '../base/now-or-later.ts'
import type { Action, Resource, Resources } from '../resources/resource.ts'
import type { Caller } from './caller.ts'
import { recordedFields } from './evidence.ts'
import { CellBudget } from './grants/cell-budget.ts'
import type { IsGranted } from './grants/grant.ts'
import { GrantTable } from './grants/grant-table.ts'
import type { Limits, Masks, Ownership, Policy, Role, Rule } from './policy.ts'
import type { RequestCondition } from './request-conditions/all-conditions.ts'
import { performs } from './rules/rule.ts'
import { namesIn } from './rules/terms.ts'

/** A caller as the policy sees it: the subjects of semantics.md that some rule names, inherited ones included. */
export interface Subject {
  /** Undefined without credentials. */
  readonly caller: Caller | undefined
  /** The subjects that rules name, sorted. */
  readonly names: readonly string[]
  /** The declared roles that the caller holds or inherits. */
  readonly roles: ReadonlySet<string>
  /**
   * The tables by resource and action; subjects with the same names share them, so the names needn't be part of the
   * key.
   */
  readonly tables: SubjectTables
}

type SubjectTables = Map<string, Map<string, GrantTable | Promise<GrantTable>>>

/** The rules of a policy, by subject. */
export interface RuleIndex {
  /** Whether some rule names the subject. */
  names(subject: string): boolean
  /** All that rules name, sorted. */
  readonly subjects: readonly string[]
  /** The rules of these subjects whose resource is one of these words, in order of their lines. */
  about(subjects: readonly string[], resources: readonly string[]): readonly Rule[]
}

/** The rules of a snapshot, and the evaluator of their grants: Casbin (casbin.ts), or plain code (direct.ts). */
export interface Engine {
  readonly rules: RuleIndex
  /** `rules`: those whose subject and resource can fit, and whose names are known there. */
  granter(about: GrantsAbout, rules: readonly Rule[]): Granter | Promise<Granter>
}

export interface GrantsAbout {
  readonly subjects: readonly string[]
  readonly resource: Resource
  /** Whether the actions concern an object, so that relations can hold. */
  readonly concernsObject: boolean
}

type Granter = (action: Action) => IsGranted

export class Snapshot {
  readonly #policy: Omit<Policy, 'rules'>
  readonly #resources: Resources
  readonly #engine: Engine
  readonly #inherited: ReadonlyMap<string, ReadonlySet<string>>
  readonly #recorded = new Map<string, readonly string[]>()
  readonly #cells = new CellBudget()
  /** By the names of a subject: one subject with these names, and with all its tables. */
  readonly #known = new Map<string, Subject>()
  /** A credential that was seen before is the same caller again. */
  readonly #subjects = new WeakMap<Caller, Subject>()
  /** By what an OpenID provider may say of a caller. */
  readonly #claimed: ReadonlyMap<string, readonly Role[]>
  readonly #vouchedFor = new WeakMap<Caller, Caller>()

  constructor(policy: Omit<Policy, 'rules'>, resources: Resources, engine: Engine) {
    this.#policy = policy
    this.#resources = resources
    this.#engine = engine
    this.#inherited = closures(policy)
    this.#claimed = claimedRoles(policy)
  }

  get limits(): Limits {
    return this.#policy.limits
  }

  get masks(): Masks {
    return this.#policy.masks
  }

  /** By name, in the order of conditions.yaml. */
  get conditions(): ReadonlyMap<string, RequestCondition> {
    return this.#policy.conditions
  }

  ownershipOf(resource: string): Ownership | undefined {
    return this.#policy.ownership.get(resource)
  }

  /** The fields of a resource's objects that decision records keep. */
  recordedFieldsOf(resource: Resource): readonly string[] {
    const known = this.#recorded.get(resource.name)
    if (known) return known
    const fields = recordedFields(resource, this.ownershipOf(resource.name))
    this.#recorded.set(resource.name, fields)
    return fields
  }

  viewOf(resource: string, view: string): ReadonlySet<string> {
    const fields = this.#policy.views.get(resource)?.get(view)
    if (!fields) throw new Error(`the policy has no view ${view} of ${resource}`)
    return fields
  }

  /**
   * Returns the same subject for the same caller. Only claims that roles.yaml names give a role, whatever their
   * spelling.
   */
  withRoles(caller: Caller): Caller {
    const known = this.#vouchedFor.get(caller)
    if (known) return known
    const given = caller.provided?.flatMap((value) => this.#claimed.get(value) ?? []) ?? []
    const roles = new Set([...caller.roles, ...given.map(({ name }) => name)])
    const made = Object.freeze({ ...caller, roles: Object.freeze([...roles]) })
    this.#vouchedFor.set(caller, made)
    return made
  }

  /** The subjects of a caller; a role that nobody declared grants nothing. */
  subjectOf(caller: Caller | undefined): Subject {
    const known = caller && this.#subjects.get(caller)
    if (known) return known
    const subject = this.#makeSubject(caller)
    if (caller) this.#subjects.set(caller, subject)
    return subject
  }

  #makeSubject(caller: Caller | undefined): Subject {
    const roles = new Set<string>()
    for (const role of caller?.roles ?? []) {
      for (const inherited of this.#inherited.get(role) ?? []) roles.add(inherited)
    }
    const names = ['everyone', caller ? `user:${caller.id}` : 'anonymous', ...roles]
    return this.#subjectWith(caller, roles, names.filter((name) => this.#engine.rules.names(name)).sort())
  }

  /** All subjects that rules name together: its tables contain every grant to anybody. No real caller has them all. */
  get anybody(): Subject {
    return this.#subjectWith(undefined, new Set(this.#inherited.keys()), this.#engine.rules.subjects)
  }

  #subjectWith(caller: Caller | undefined, roles: ReadonlySet<string>, names: readonly string[]): Subject {
    const key = JSON.stringify(names)
    const subject = { caller, roles, names, tables: this.#known.get(key)?.tables ?? new Map() }
    if (!this.#known.has(key)) this.#known.set(key, subject)
    return subject
  }

  /**
   * The table for a subject, a resource and an action: at once when it was made before. Throws for what no schema
   * declares.
   */
  table(subject: Subject, resource: string, action: string): GrantTable | Promise<GrantTable> {
    const known = subject.tables.get(resource)?.get(action)
    if (known) return known
    const tables = subject.tables.get(resource) ?? new Map<string, GrantTable | Promise<GrantTable>>()
    subject.tables.set(resource, tables)
    const table = this.#makeTable(subject, resource, action)
    tables.set(action, table)
    if (table instanceof Promise) {
      table.then(
        (made) => tables.set(action, made),
        () => tables.delete(action),
      )
    }
    return table
  }

  /** Makes the cells that another snapshot has in use, step by step, so that no request is slower after the change. */
  async *warmLike(other: Snapshot): AsyncGenerator<undefined, void> {
    for (const { caller, tables } of other.#known.values()) {
      const subject = this.subjectOf(caller)
      for (const [resource, byAction] of tables) {
        for (const [action, table] of byAction) yield* this.#warmTable(subject, resource, action, await table)
      }
    }
  }

  async *#warmTable(
    subject: Subject,
    resource: string,
    action: string,
    like: GrantTable,
  ): AsyncGenerator<undefined, void> {
    if (!this.#resources.byName.get(resource)?.actions.has(action)) return
    const table = await this.table(subject, resource, action)
    for (const names of like.cellsInUse) {
      yield
      table.warm(names)
    }
  }

  #makeTable(subject: Subject, resourceName: string, actionName: string): GrantTable | Promise<GrantTable> {
    const { resource, action } = this.#declared(resourceName, actionName)
    const { name, builtIn } = resource
    const candidates = this.#engine.rules.about(subject.names, [name, builtIn ? 'system/*' : '*'])
    const concernsObject = actionName !== 'options'
    const isKnown = this.#namesKnownFor(resource, concernsObject)
    const known = candidates.filter((rule) => namesIn(rule).every(isKnown))
    const parts = {
      resource,
      action,
      rules: known.filter((rule) => performs(rule, action)),
      views: this.#policy.views.get(name),
      ownership: this.ownershipOf(name),
    }
    const about = { subjects: subject.names, resource, concernsObject }
    return onceKnown(this.#engine.granter(about, known), (granter) => {
      return new GrantTable({ ...parts, isGranted: granter(action) }, this.#cells)
    })
  }

  /**
   * A rule for `*` may name a relation that this resource doesn't have: here it can never match. OPTIONS concerns no
   * object, so no relation counts for it, negated or not (language.md, section 3).
   */
  #namesKnownFor({ name: resource }: Resource, concernsObject: boolean): (name: string) => boolean {
    const relations = concernsObject ? this.ownershipOf(resource)?.relations : undefined
    return (name) => this.#policy.conditions.has(name) || (relations?.has(name) ?? false)
  }

  #declared(resourceName: string, actionName: string): { resource: Resource; action: Action } {
    const resource = this.#resources.byName.get(resourceName)
    const action = resource?.actions.get(actionName)
    if (!resource || !action) throw new Error(`no schema declares ${actionName} on ${resourceName}`)
    return { resource, action }
  }
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
