/** The rules about one action as guarantees ask of them: what each caller is granted, and what it can make of objects. */
import { changesStored } from '../../decide/callers-and-routes.ts'
import type { GuaranteedAct, Policy, Rule } from '../../decide/policy.ts'
import { comparedFields } from '../../decide/relations/all-kinds.ts'
import { filledFields } from '../../decide/relations/ownership.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import { decidedFields, namesIn } from '../../decide/rules/terms.ts'
import type { Action, Resource } from '../../resources/resource.ts'
import { ActionRules, groupRules } from '../action-rules.ts'
import { heldAsMade } from '../possible-sets.ts'
import { EVERYWHERE, type Extent, NOWHERE, type Region, whereNamed } from '../regions.ts'
import type { ResourceSpace } from '../space.ts'

export interface GuaranteedCaller {
  readonly kind: 'anonymous' | 'known'
  readonly roles: readonly string[]
  /** `user:<id>`, if a rule names this caller. */
  readonly user?: string
  readonly subjects: ReadonlySet<string>
}

/** Whose allows count: the caller's, or those of everybody, which the caller could have by further roles. */
export type AllowsOf = 'caller' | 'everybody'

/** The rules about one action at one time, of everybody or of one caller. */
export class AskedRules {
  readonly action: Action
  readonly resource: Resource
  readonly space: ResourceSpace
  readonly rules: ActionRules
  readonly time: number
  readonly fields: readonly string[]
  readonly filled: ReadonlyMap<string, string>
  /** The subjects of the rules. */
  readonly named: ReadonlySet<string>
  readonly #names: ReadonlySet<string>
  readonly #bySubject: ReadonlyMap<string, readonly Rule[]>
  readonly #kinds = new Map<string, string>()
  readonly #granted = new Map<string, readonly Region[]>()
  #everyAllow: readonly Extent[] | undefined
  readonly #writable = new Map<string, Region>()

  constructor(
    { rules, ownership }: Policy,
    { resource, action, space, time }: Pick<AskedRules, 'resource' | 'action' | 'space' | 'time'>,
  ) {
    this.resource = resource
    this.action = action
    this.space = space
    this.time = time
    this.rules = new ActionRules(resource, action, space, groupRules(rules))
    this.fields = decidedFields({ resource, action })
    const filled = filledFields(resource, ownership.get(resource.name))
    this.filled = new Map(filled.map(({ field, attribute }) => [field.name, attribute]))
    this.#bySubject = Map.groupBy(rules, ({ subject }) => subject)
    this.named = new Set(this.#bySubject.keys())
    this.#names = new Set(rules.flatMap(namesIn))
  }

  bitOf(field: string): bigint {
    return 1n << BigInt(this.fields.indexOf(field))
  }

  rulesOf({ subjects }: GuaranteedCaller): readonly Rule[] {
    return [...subjects].flatMap((subject) => this.#bySubject.get(subject) ?? [])
  }

  /** What the rules here say of the caller's subjects: callers with the same profile are granted the same. */
  readonly profileOf = ({ subjects }: GuaranteedCaller): string => {
    const kinds = [...subjects.intersection(this.named)].map((subject) => this.#kindOf(subject))
    return [...new Set(kinds)].sort().join()
  }

  /** The same for subjects with the same rules. */
  #kindOf(subject: string): string {
    return this.#kinds.getOrInsertComputed(subject, () => {
      const rules = this.#bySubject.get(subject) ?? []
      return JSON.stringify(rules.map((rule) => ({ ...rule, line: 0, subject: '' })))
    })
  }

  /** Where each of these fields is granted to the caller. */
  granted(fields: readonly string[], caller: GuaranteedCaller, allows: AllowsOf = 'caller'): readonly Region[] {
    const all = this.#granted.getOrInsertComputed(`${allows} ${this.profileOf(caller)}`, () => {
      const { regions } = this.space
      const extents = allows === 'caller' ? this.rules.extents('allow', caller.subjects) : this.#allAllows()
      const granted = this.rules.granted(extents, caller.subjects)
      return this.fields.map((field) => whereNamed(regions, granted, this.bitOf(field)))
    })
    return fields.map((field) => all[this.fields.indexOf(field)] ?? NOWHERE)
  }

  /** See `whereWritable`. */
  writable(caller: GuaranteedCaller, operation: string, allows: AllowsOf = 'caller'): Region {
    const key = `${operation} ${allows} ${this.profileOf(caller)}`
    return this.#writable.getOrInsertComputed(key, () => whereWritable(this, { caller, operation, allows }))
  }

  #allAllows(): readonly Extent[] {
    if (!this.#everyAllow) {
      const byRegion = Map.groupBy(this.rules.extents('allow', this.named), ({ region }) => region)
      const fieldsOf = (some: readonly Extent[]) => some.reduce((mask, { fields }) => mask | fields, 0n)
      this.#everyAllow = [...byRegion].map(([region, some]) => ({ region, fields: fieldsOf(some) }))
    }
    return this.#everyAllow
  }

  /** How many situations the rules and the guarantee tell apart there. */
  count(where: Region, { terms, fields = ['*'] }: GuaranteedAct, operation: string): number {
    const names = this.#names.union(new Set(terms ? namesIn(terms) : []))
    return this.space.regions.count(where, this.variables(names, operation)) * fields.length
  }

  /** Those that are decided: without a write to a stored object, there is no result. */
  variables(names: ReadonlySet<string>, operation: string): readonly number[] {
    const { before, after } = this.space.variablesOf(names)
    return changesStored(operation) ? [...before, ...after] : before
  }
}

/** Where a write makes relations begin or cease to hold only by fields that the caller may write. */
function whereWritable(
  asked: AskedRules,
  {
    caller,
    operation,
    allows,
  }: { readonly caller: GuaranteedCaller; readonly operation: string; readonly allows: AllowsOf },
): Region {
  const { space, resource, filled } = asked
  const { regions } = space
  if (operation !== 'create' && !changesStored(operation)) return EVERYWHERE
  const where = (name: string) =>
    isClients(resource, name) ? regions.any(asked.granted([name], caller, allows)) : NOWHERE
  const made = (leaf: Relation) => {
    const [name = ''] = comparedFields(leaf)
    const isHeld = heldAsMade(leaf, resource.fields.get(name), filled.get(name))
    const held = space.ofLeaf(leaf).stored
    return isHeld === undefined ? EVERYWHERE : regions.either(where(name), isHeld ? held : regions.not(held))
  }
  const changed = (leaf: Relation) => {
    const fields = comparedFields(leaf)
    const kept = space.whereKept((one) => one === leaf)
    return fields.includes('updatedAt') ? EVERYWHERE : regions.either(kept, regions.any(fields.map(where)))
  }
  return regions.all(space.leaves.map(operation === 'create' ? made : changed))
}

export function isClients({ fields }: Resource, name: string): boolean {
  return fields.get(name)?.readOnly === false
}

/** How much there is to know about a caller. */
export function sizeOf({ roles, user }: GuaranteedCaller): number {
  return roles.length + (user === undefined ? 0 : 1)
}
