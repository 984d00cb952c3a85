/** One policy in force: immutable, used by every request, replaced as a whole when the files change. */

import { onceKnown } from '../base/now-or-later.ts'
import { type Action, namesInRules, type Resource, type Resources } from '../resources/resource.ts'
import type { Caller } from './caller.ts'
import type { IsGranted } from './grants/grant.ts'
import { CellBudget, GrantTable } from './grants/grant-table.ts'
import { type NamedSubjects, type Subject, Subjects } from './grants/subjects.ts'
import { type CallerEntry, gatewayAt, type Trust, trustOf } from './grants/trust.ts'
import type { Limits, Masks, Ownership, Policy, Rule, Subscription } from './policy.ts'
import type { RequestCondition } from './request-conditions/all-conditions.ts'
import type { RoleGuarantees } from './role-guarantees.ts'
import { concernsAction, namesIn, neededActions, performs } from './rules/terms.ts'

/** The rules of a policy, by subject. */
export interface RuleIndex extends NamedSubjects {
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
  readonly limits: Limits
  readonly masks: Masks
  /** By name, in the order of conditions.yaml. */
  readonly conditions: ReadonlyMap<string, RequestCondition>
  /** What guarantees.yaml says of people. */
  readonly roleGuarantees: RoleGuarantees
  readonly #policy: Omit<Policy, 'rules'>
  readonly #resources: Resources
  readonly #engine: Engine
  readonly #subjects: Subjects
  readonly #cells = new CellBudget()
  readonly #trust = new WeakMap<Subject, Trust>()

  constructor(policy: Omit<Policy, 'rules'>, resources: Resources, engine: Engine) {
    this.limits = policy.limits
    this.masks = policy.masks
    this.conditions = policy.conditions
    this.#policy = policy
    this.#resources = resources
    this.#engine = engine
    this.#subjects = new Subjects(policy, engine.rules)
    this.roleGuarantees = this.#subjects.guarantees
  }

  /** What subscriptions.yaml says. */
  get subscriptions(): readonly Subscription[] {
    return this.#policy.subscriptions
  }

  /** The roles that the caller claims and doesn't have, because guarantees keep them apart. */
  rolesLostBy(caller: Caller): readonly string[] | undefined {
    return this.roleGuarantees.apart.length === 0 ? undefined : this.subjectOf(caller).lost
  }

  /** What the caller may assert of others when it asks for decisions. */
  trustOf(caller: Subject): Trust {
    return this.#trust.getOrInsertComputed(caller, () => trustOf(this.#policy.callers, caller))
  }

  /** The entry of callers.yaml whose networks have this socket address. */
  gatewayAt(address: string): CallerEntry | undefined {
    return gatewayAt(this.#policy.callers, address)
  }

  ownershipOf(resource: string): Ownership | undefined {
    return this.#policy.ownership.get(resource)
  }

  resourceNamed(name: string): Resource {
    const resource = this.#resources.byName.get(name)
    if (!resource) throw new Error(`no schema declares ${name}`)
    return resource
  }

  viewOf(resource: string, view: string): ReadonlySet<string> {
    const fields = this.#policy.views.get(resource)?.get(view)
    if (!fields) throw new Error(`the policy has no view ${view} of ${resource}`)
    return fields
  }

  /** The caller with the roles that its claims give it. */
  withRoles(caller: Caller): Caller {
    return this.#subjects.withRoles(caller)
  }

  subjectOf(caller: Caller | undefined): Subject {
    return this.#subjects.of(caller)
  }

  /** Whether rules about objects grant something to this very person (`user:<id>`), whatever its roles are. */
  grantsByName(id: string): boolean {
    const subject = `user:${id}`
    if (!this.#engine.rules.names(subject)) return false
    const names = [...this.#resources.byName.values()].flatMap(({ name, builtIn }) => (builtIn ? [] : [name]))
    return this.#engine.rules.about([subject], [...names, '*']).some(({ effect }) => effect === 'allow')
  }

  /** All subjects that rules name together: its tables contain every grant to anybody. No real caller has them all. */
  get anybody(): Subject {
    return this.#subjects.anybody
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

  /** Whether every rule that fits the subject is about both actions or neither: then they grant the same. */
  grantsAlike(subject: Subject, resourceName: string, one: string, other: string): boolean {
    const [{ resource, action }, second] = [this.#declared(resourceName, one), this.#declared(resourceName, other)]
    const candidates = this.#engine.rules.about(subject.names, [resource.name, '*'])
    if (action.also || second.action.also) return false
    return candidates.every((rule) => performs(rule, action) === performs(rule, second.action))
  }

  /** Makes the cells that another snapshot has in use, step by step, so that no request is slower after the change. */
  async *warmLike(other: Snapshot): AsyncGenerator<undefined, void> {
    for (const { caller, tables } of other.#subjects.known) {
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
    const { name } = resource
    const candidates = this.#engine.rules.about(subject.names, namesInRules(name))
    const concernsObject = actionName !== 'options'
    const isKnown = this.#namesKnownFor(resource, concernsObject)
    const known = candidates.filter((rule) => namesIn(rule).every(isKnown))
    const parts = {
      resource,
      action,
      rules: known.filter((rule) => concernsAction(rule, action)),
      views: this.#policy.views.get(name),
      ownership: this.ownershipOf(name),
    }
    const about = { subjects: subject.names, resource, concernsObject }
    return onceKnown(this.#engine.granter(about, known), (granter) => {
      return new GrantTable(
        { ...parts, isGranted: action.also ? grantedBoth(granter, action) : granter(action) },
        this.#cells,
      )
    })
  }

  /**
   * A rule for `*` may name a relation that this resource doesn't have: here it can never match. OPTIONS concerns no
   * object, so no relation counts for it, negated or not (docs/semantics.md, "When a rule matches").
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

/** A command's grants: a field needs the rules about its action, and those about what its steps do. */
function grantedBoth(granter: Granter, action: Action): IsGranted {
  const both = neededActions(action).map((one) => ({ one, isGranted: granter(one) }))
  return (field, held, matching) =>
    both.every(({ one, isGranted }) => {
      const own = matching.filter((rule) => performs(rule, one))
      return isGranted(field, held, own)
    })
}
