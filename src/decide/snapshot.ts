/** One policy in force: immutable, asked by every request, swapped whole when the files change. */

import type { Action, Resource, Resources } from '../resources/resource.ts'
import type { Caller } from './caller.ts'
import { type Ask, createEnforcer } from './grants/casbin.ts'
import { GrantTable } from './grants/grant-table.ts'
import { recordedFields } from './ground.ts'
import type { Limits, Masks, Ownership, Role, Rule } from './policy.ts'
import { LivingRules } from './rules/living-rules.ts'
import type { PackedPolicy } from './rules/rule-table.ts'

/** A caller as the policy sees it: the subjects of semantics.md that some rule names, inherited ones included. */
export interface Subject {
  /** Undefined without credentials. */
  readonly caller: Caller | undefined
  /** The subjects that rules name, sorted. */
  readonly names: readonly string[]
  /** The declared roles that the caller holds or inherits. */
  readonly roles: ReadonlySet<string>
  /** By resource and action; shared by the subjects with these names, so that no table has to be looked for by them. */
  readonly tables: SubjectTables
}

type SubjectTables = Map<string, Map<string, GrantTable | Promise<GrantTable>>>

/** No rule names it, so that the caller of an enforcer is nobody by itself (roles have no colon). */
const CALLER = 'caller:'

export class Snapshot {
  readonly #policy: PackedPolicy
  readonly #resources: Resources
  readonly #rules: LivingRules
  readonly #inherited: ReadonlyMap<string, ReadonlySet<string>>
  readonly #recorded: ReadonlyMap<string, readonly string[]>
  /** By the names of a subject: one that has them, and so all tables. */
  readonly #known = new Map<string, Subject>()
  /** A credential that was seen before is the same caller again. */
  readonly #subjects = new WeakMap<Caller, Subject>()
  /** By what an OpenID provider may say of a caller. */
  readonly #claimed: ReadonlyMap<string, readonly Role[]>
  readonly #vouchedFor = new WeakMap<Caller, Caller>()
  readonly #enforcers = new Map<string, Promise<Ask>>()

  /** Of the rules that live at a time (milliseconds since the epoch); of all rules when none is given. */
  constructor(policy: PackedPolicy, resources: Resources, now = Number.NEGATIVE_INFINITY) {
    this.#policy = policy
    this.#resources = resources
    this.#rules = new LivingRules(policy.table, now)
    this.#inherited = closures(policy)
    this.#claimed = claimedRoles(policy)
    this.#recorded = new Map(
      [...resources.byName.values()].map((one) => [one.name, recordedFields(one, policy.ownership.get(one.name))]),
    )
  }

  get limits(): Limits {
    return this.#policy.limits
  }

  get masks(): Masks {
    return this.#policy.masks
  }

  ownershipOf(resource: string): Ownership | undefined {
    return this.#policy.ownership.get(resource)
  }

  /** The fields of a resource's objects that decision records keep. */
  recordedFieldsOf(resource: string): readonly string[] {
    return this.#recorded.get(resource) ?? []
  }

  viewOf(resource: string, view: string): ReadonlySet<string> {
    const fields = this.#policy.views.get(resource)?.get(view)
    if (!fields) throw new Error(`the policy has no view ${view} of ${resource}`)
    return fields
  }

  /** The same caller for the same one. Only what roles.yaml names gives a role, however it is spelled. */
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
    return this.#subjectWith(caller, roles, names.filter((name) => this.#rules.names(name)).sort())
  }

  /** All subjects that rules name at once: what is granted to somebody is on its tables. No caller is it. */
  get anybody(): Subject {
    return this.#subjectWith(undefined, new Set(this.#inherited.keys()), this.#rules.subjects)
  }

  #subjectWith(caller: Caller | undefined, roles: ReadonlySet<string>, names: readonly string[]): Subject {
    const key = JSON.stringify(names)
    const subject = { caller, roles, names, tables: this.#known.get(key)?.tables ?? new Map() }
    if (!this.#known.has(key)) this.#known.set(key, subject)
    return subject
  }

  /** The table for a subject, a resource and an action: at once when it was made before. Throws for what no schema declares. */
  table(subject: Subject, resource: string, action: string): GrantTable | Promise<GrantTable> {
    const known = subject.tables.get(resource)?.get(action)
    if (known) return known
    const tables = subject.tables.get(resource) ?? new Map<string, GrantTable | Promise<GrantTable>>()
    subject.tables.set(resource, tables)
    const table = this.#makeTable(subject, resource, action)
    tables.set(action, table)
    table.then(
      (made) => tables.set(action, made),
      () => tables.delete(action),
    )
    return table
  }

  /** Makes the cells that another snapshot has in use, step by step, so that taking over costs no request any time. */
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
    for (const relations of like.cellsInUse) {
      yield
      table.grant(relations)
    }
  }

  async #makeTable(subject: Subject, resourceName: string, actionName: string): Promise<GrantTable> {
    const { resource, action } = this.#declared(resourceName, actionName)
    const candidates = this.#rulesFor(subject.names, resource)
    const acting = candidates.filter(({ actions }) => actions.includes('*') || actions.includes(action.name))
    // A rule for `*` may name a relation that this resource doesn't have: here it can never match.
    const relations = this.#policy.ownership.get(resource.name)?.relations
    return new GrantTable({
      resource,
      action,
      rules: acting.filter((rule) => rule.relations.every((name) => relations?.has(name))),
      views: this.#policy.views.get(resource.name),
      ownership: this.#policy.ownership.get(resource.name),
      ask: await this.#enforcer(subject.names, resource, candidates),
      subject: CALLER,
    })
  }

  #declared(resourceName: string, actionName: string): { resource: Resource; action: Action } {
    const resource = this.#resources.byName.get(resourceName)
    const action = resource?.actions.get(actionName)
    if (!resource || !action) throw new Error(`no schema declares ${actionName} on ${resourceName}`)
    return { resource, action }
  }

  /** The index: the rules whose subject and resource can fit. */
  #rulesFor(subjects: readonly string[], { name, builtIn }: Resource): readonly Rule[] {
    return this.#rules.about(subjects, [name, builtIn ? 'system/*' : '*'])
  }

  #enforcer(subjects: readonly string[], resource: Resource, rules: readonly Rule[]): Promise<Ask> {
    const key = JSON.stringify([resource.name, subjects])
    const known = this.#enforcers.get(key)
    if (known) return known
    const links = subjects.map((parent) => ({ child: CALLER, parent }))
    const made = createEnforcer(rules, links, this.#policy.views)
    this.#enforcers.set(key, made)
    made.catch(() => this.#enforcers.delete(key))
    return made
  }
}

function claimedRoles({ roles }: PackedPolicy): ReadonlyMap<string, readonly Role[]> {
  const pairs = [...roles.values()].flatMap((role) => role.claims.map((value) => ({ role, value })))
  const byValue = Map.groupBy(pairs, ({ value }) => value)
  return new Map([...byValue].map(([value, found]) => [value, found.map(({ role }) => role)]))
}

/** Each role with all that it inherits, itself included. Casbin would cut a chain at ten links, in silence. */
function closures({ roles, links }: PackedPolicy): ReadonlyMap<string, ReadonlySet<string>> {
  const parents = Map.groupBy(links, (link) => link.role)
  const closure = (role: string): ReadonlySet<string> => {
    const reached = new Set([role])
    // A Set's iterator also visits what is added while it runs.
    for (const name of reached) for (const link of parents.get(name) ?? []) reached.add(link.inherits)
    return reached
  }
  return new Map([...roles.keys()].map((role) => [role, closure(role)]))
}
