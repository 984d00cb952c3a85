/**
 * Indexes the rules of a policy by resource and action, and the subjects of each caller, so that checks of 10,000 rules
 * are cheap.
 */
import type { Policy, RoleLink, Rule } from '../decide/policy.ts'
import { type RolesApart, roleGuaranteesOf, rolesLost } from '../decide/role-guarantees.ts'
import { namesInRules, type Resource, type Resources } from '../resources/resource.ts'
import { ActionRules, type AlikeRules, alikeRules, type ResourceRules } from './action-rules.ts'
import { ResourceSpace } from './space.ts'

export interface IndexedPolicy {
  readonly policy: Policy
  readonly resources: Resources
  readonly index: ActionRulesIndex
}

export class ActionRulesIndex {
  readonly #policy: Policy
  /** Resources that are left out, since their rules tell too many situations apart (TooManyRegions). */
  readonly undecided: ReadonlySet<string>
  readonly #alike: ReadonlyMap<Rule, AlikeRules>
  /** By resource column and subject. */
  readonly #rules = new Map<string, Map<string, Rule[]>>()
  readonly #links: ReadonlyMap<string, readonly RoleLink[]>
  readonly #subjects = new Map<string, ReadonlySet<string>>()
  readonly #profiles = new Map<string, string>()
  readonly #byAction = new Map<string, ActionRules>()
  readonly #places = new Map<AlikeRules, ActionRules[]>()
  /** Rules whose names and views some resource and action knows. */
  readonly #tried = new Set<AlikeRules>()
  readonly #unjudged = new Set<AlikeRules>()
  readonly #removed = new Set<Rule>()
  readonly #apart: readonly RolesApart[]

  constructor(policy: Policy, { byName }: Resources, undecided: ReadonlySet<string> = new Set()) {
    this.#policy = policy
    this.#apart = roleGuaranteesOf(policy).apart
    this.undecided = undecided
    this.#alike = alikeRules(policy.rules)
    for (const rule of policy.rules) {
      const bySubject = this.#rules.getOrInsertComputed(rule.resource, () => new Map<string, Rule[]>())
      bySubject.getOrInsertComputed(rule.subject, () => []).push(rule)
    }
    this.#links = Map.groupBy(policy.links, ({ role }) => role)
    const byColumn = Map.groupBy(new Set(this.#alike.values()), ({ rules: [rule] }) => rule?.resource)
    for (const resource of byName.values()) {
      const columns = namesInRules(resource.name)
      this.#place(
        resource,
        columns,
        columns.flatMap((column) => byColumn.get(column) ?? []),
      )
    }
  }

  rulesOf(resource: string, action: string): ActionRules | undefined {
    return this.#byAction.get(JSON.stringify([resource, action]))
  }

  /**
   * The resources and actions for which the rule can match; empty if it never can, and for a rule about an undecided
   * resource, which can't be judged as a whole.
   */
  placesOf(rule: Rule): readonly ActionRules[] {
    const alike = this.#alike.get(rule)
    return alike && !this.#unjudged.has(alike) ? this.#placesIn(rule) : []
  }

  /** Whether some resource and action knows the rule's names and views, but it matches for none of them. */
  isContradiction(rule: Rule): boolean {
    const alike = this.#alike.get(rule)
    return alike !== undefined && this.#tried.has(alike) && !this.#unjudged.has(alike) && !this.#places.has(alike)
  }

  /** Ignores the rule from now on. */
  remove(rule: Rule): void {
    this.#removed.add(rule)
    for (const actionRules of this.#placesIn(rule)) actionRules.changed(rule)
  }

  /** Undoes `remove`. */
  restore(rule: Rule): void {
    if (!this.#removed.delete(rule)) return
    for (const actionRules of this.#placesIn(rule)) actionRules.changed(rule)
  }

  /** The subjects of a caller who has this subject: also `everyone`, and all that it inherits. */
  subjectsOf(subject: string): ReadonlySet<string> {
    return this.#subjects.getOrInsertComputed(subject, () => {
      const made = new Set(['everyone', subject])
      // A Set's iterator also visits what is added while it runs.
      for (const name of made) for (const { inherits } of this.#links.get(name) ?? []) made.add(inherits)
      return made
    })
  }

  /** Whether one caller can have both subjects: roles that a guarantee keeps apart count for nobody who has both. */
  canBeOneCaller(a: string, b: string): boolean {
    return canBeOneCaller(a, b) && rolesLost(this.#apart, [a, b]).length === 0
  }

  /** Equal for two subjects that callers can have together with the same further ones. */
  kindOf(subject: string): string {
    if (subject === 'anonymous' || subject === 'everyone') return subject
    if (subject.startsWith('user:')) return 'user'
    return ['role', ...this.#apart.map(({ givenBy }) => [...(givenBy.get(subject) ?? [])].join('+'))].join('/')
  }

  /** Equal for two subjects if callers with one or the other are granted the same. */
  profileOf(subject: string): string {
    return this.#profiles.getOrInsertComputed(subject, () => {
      const subjects = [...this.subjectsOf(subject)]
      const rules = subjects.flatMap((name) => [...this.#rules.values()].flatMap((some) => some.get(name) ?? []))
      return [...new Set(rules.map((rule) => this.#alike.get(rule)?.id))].join()
    })
  }

  #placesIn(rule: Rule): readonly ActionRules[] {
    const alike = this.#alike.get(rule)
    return (alike && this.#places.get(alike)) ?? []
  }

  #place(resource: Resource, columns: readonly string[], alike: readonly AlikeRules[]): void {
    if (this.undecided.has(resource.name)) {
      for (const one of alike) this.#unjudged.add(one)
      return
    }
    const space = new ResourceSpace(this.#policy, resource)
    const rules: ResourceRules = {
      alike,
      ofSubject: (subject) => columns.flatMap((column) => this.#rules.get(column)?.get(subject) ?? []),
      alikeOf: (rule) => this.#alike.get(rule),
      removed: this.#removed,
    }
    for (const action of resource.actions.values()) {
      const actionRules = new ActionRules(resource, action, space, rules)
      this.#byAction.set(JSON.stringify([resource.name, action.name]), actionRules)
      for (const [one, canMatch] of actionRules.counting) {
        this.#tried.add(one)
        if (canMatch) this.#places.getOrInsertComputed(one, () => []).push(actionRules)
      }
    }
  }
}

/** Without guarantees: nobody is two users, or has a role without credentials. */
export function canBeOneCaller(a: string, b: string): boolean {
  if (a === b || a === 'everyone' || b === 'everyone') return true
  if (a === 'anonymous' || b === 'anonymous') return false
  return !(a.startsWith('user:') && b.startsWith('user:'))
}
