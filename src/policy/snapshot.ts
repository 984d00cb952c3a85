/** One policy in force: immutable, asked by every request, swapped whole when the files change. */
import type { Masks } from '../decision-log/mask.ts'
import type { Caller } from '../identity/caller.ts'
import type { Action, Resource, Resources } from '../resources/resource.ts'
import { type Ask, createEnforcer } from './casbin.ts'
import { recordedFields } from './ground.ts'
import { Page } from './page.ts'
import type { Limits, Ownership, Policy, Rule } from './policy.ts'

/** A caller as the policy sees it: the subjects of semantics.md that some rule names, inherited ones included. */
export interface Subject {
  /** Undefined without credentials. */
  readonly caller: Caller | undefined
  /** The subjects that rules name, sorted. */
  readonly names: readonly string[]
  /** The declared roles that the caller holds or inherits. */
  readonly roles: ReadonlySet<string>
  /** The same for subjects with the same names, and for no others. */
  readonly key: string
}

interface PageKey {
  readonly subject: Subject
  readonly resource: string
  readonly action: string
}

/** No rule names it, so that the caller of an enforcer is nobody by itself (roles have no colon). */
const CALLER = 'caller:'

export class Snapshot {
  readonly #policy: Policy
  readonly #resources: Resources
  readonly #index: ReadonlyMap<string, readonly Rule[]>
  readonly #inherited: ReadonlyMap<string, ReadonlySet<string>>
  readonly #recorded: ReadonlyMap<string, readonly string[]>
  readonly #pages = new Map<string, { readonly key: PageKey; readonly page: Page | Promise<Page> }>()
  /** A credential that was seen before is the same caller again. */
  readonly #subjects = new WeakMap<Caller, Subject>()
  readonly #enforcers = new Map<string, Promise<Ask>>()

  constructor(policy: Policy, resources: Resources) {
    this.#policy = policy
    this.#resources = resources
    this.#index = Map.groupBy(policy.rules, (rule) => rule.subject)
    this.#inherited = closures(policy)
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
    return subjectWith({ caller, roles, names: names.filter((name) => this.#index.has(name)) })
  }

  /** All subjects that rules name at once: what is granted to somebody is on its pages. No caller is it. */
  get anybody(): Subject {
    return subjectWith({ caller: undefined, roles: new Set(this.#inherited.keys()), names: [...this.#index.keys()] })
  }

  /** The page for a subject, a resource and an action: at once when it was made before. Throws for what no schema declares. */
  page(subject: Subject, resource: string, action: string): Page | Promise<Page> {
    // The names of actions have no space, and those of resources neither.
    const name = `${action} ${resource} ${subject.key}`
    const known = this.#pages.get(name)
    if (known) return known.page
    const key = { subject, resource, action }
    const page = this.#makePage(subject, resource, action)
    this.#pages.set(name, { key, page })
    page.then(
      (made) => this.#pages.set(name, { key, page: made }),
      () => this.#pages.delete(name),
    )
    return page
  }

  /** Makes the cells that another snapshot has in use, so that taking over costs no request any time. */
  async warmLike(other: Snapshot): Promise<void> {
    for (const { key, page } of other.#pages.values()) {
      const resource = this.#resources.byName.get(key.resource)
      if (!resource?.actions.has(key.action)) continue
      const mine = await this.page(this.subjectOf(key.subject.caller), key.resource, key.action)
      for (const relations of (await page).cellsInUse) mine.grant(relations)
    }
  }

  async #makePage(subject: Subject, resourceName: string, actionName: string): Promise<Page> {
    const { resource, action } = this.#declared(resourceName, actionName)
    const candidates = this.#rulesFor(subject.names, resource)
    const acting = candidates.filter(({ actions }) => actions.includes('*') || actions.includes(action.name))
    // A rule for `*` may name a relation that this resource doesn't have: here it can never match.
    const relations = this.#policy.ownership.get(resource.name)?.relations
    return new Page({
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
  #rulesFor(subjects: readonly string[], resource: Resource): readonly Rule[] {
    const wildcard = resource.builtIn ? 'system/*' : '*'
    return subjects
      .flatMap((subject) => this.#index.get(subject) ?? [])
      .filter((rule) => rule.resource === resource.name || rule.resource === wildcard)
      .sort((a, b) => a.line - b.line)
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

function subjectWith({ names, ...rest }: Omit<Subject, 'key'>): Subject {
  const sorted = names.toSorted()
  return { ...rest, names: sorted, key: JSON.stringify(sorted) }
}

/** Each role with all that it inherits, itself included. Casbin would cut a chain at ten links, in silence. */
function closures({ roles, links }: Policy): ReadonlyMap<string, ReadonlySet<string>> {
  const parents = Map.groupBy(links, (link) => link.role)
  const closure = (role: string): ReadonlySet<string> => {
    const reached = new Set([role])
    // A Set's iterator also visits what is added while it runs.
    for (const name of reached) for (const link of parents.get(name) ?? []) reached.add(link.inherits)
    return reached
  }
  return new Map([...roles.keys()].map((role) => [role, closure(role)]))
}
