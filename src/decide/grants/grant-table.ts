/**
 * All grants of the policy to one set of subjects for one action on one resource. A cell (the grant when exactly these
 * names hold) is computed on first use and kept, so a request costs a look-up.
 */

import { LRUCache } from 'lru-cache'
import { subsets } from '../../base/subsets.ts'
import type { Condition } from '../conditions/condition.ts'
import { recordedFields } from '../evidence.ts'
import type { Ownership, Rule } from '../policy.ts'
import { comparedAttributes, isTimed, leavesOf, meaningOf, stepOf } from '../relations/all-kinds.ts'
import type { CallerAndTime, Has, Relation } from '../relations/relation-kind.ts'
import { fitsObject, fitsResult, isOfFirstDecision, namesIn, type ResultNames, ruleNames } from '../rules/terms.ts'
import type { Grant, HeldNames, TableParts } from './grant.ts'
import { filterOf, whereGranted } from './list-filter.ts'
import { RoleLevel } from './role-level.ts'

interface GrantCell {
  readonly held: HeldNames
  readonly grant: Grant
}

/** Fields that are granted together, and the objects on which they are. */
export interface GrantedWhere {
  readonly fields: readonly string[]
  readonly where: Condition
}

/** Which values a caller lacks may be asserted by somebody else, and so be ever new. */
const ROLE_LEVELS = 100

/** A table tries every set of its first conditions, up to this many. */
const MOST_CONDITIONS = 8

/** Bitwise operators take numbers of 32 bits; the key of a result has three sets. */
const MOST_BITS = 31
const MOST_BITS_OF_THREE = 10

export class GrantTable {
  readonly #parts: TableParts
  /** How callers relate to objects of the resource. */
  readonly ownership: Ownership | undefined
  /** The fields of an object that decision records keep. */
  readonly recorded: readonly string[]
  readonly #budget: CellBudget
  /** Classes of fields that no view distinguishes: a cell asks about the first field of each class. */
  readonly #classes: readonly (readonly string[])[]
  /** The relations and conditions that rules of this table name; others don't count. */
  readonly #names: readonly string[]
  readonly #cells = new Map<string | number, GrantCell>()
  readonly #results = new Map<string | number, GrantCell>()
  /** A bit for each name; the bits of a set identify it. */
  readonly #bits: ReadonlyMap<string, number>
  /** The relations that rules of this table name, as ownership.yaml declares them. */
  readonly compared: readonly Relation[]
  /** Of these, and of their parts, those that rest on other objects. */
  readonly steps: readonly Relation[]
  /** The conditions of the request that rules of this table name. */
  readonly conditions: readonly string[]
  /** Attributes of the caller, besides the id, that the rules of this table compare. */
  readonly attributes: readonly string[]
  /** The caller's values that relations compare: `id`, and attributes. */
  readonly #callerValues: readonly string[]
  readonly #isTimed: boolean
  #meaning: string | undefined
  /** Whether some rule has a right side. */
  readonly #hasTransitions: boolean
  /** By the compared values that the caller lacks, and the conditions that hold. */
  readonly #roleLevels = new LRUCache<string, RoleLevel>({ maxSize: ROLE_LEVELS, sizeCalculation: () => 1 })
  /** By the compared values of the caller, and the conditions that hold. */
  readonly #wheres: ReturnType<KeptConditions['ofTable']>

  constructor(parts: TableParts, budget: CellBudget) {
    this.#parts = parts
    this.ownership = parts.ownership
    this.recorded = recordedFields(parts.resource, parts.ownership)
    this.#budget = budget
    this.#wheres = budget.conditions.ofTable()
    this.#classes = classesOf(parts)
    this.#names = [...new Set(parts.rules.flatMap(namesIn))].sort()
    this.#bits = new Map(this.#names.map((name, i) => [name, 1 << i]))
    this.compared = this.#names.flatMap((name) => parts.ownership?.relations.get(name) ?? [])
    this.steps = [...new Set(this.compared.flatMap(leavesOf))].filter(stepOf)
    this.conditions = this.#names.filter((name) => !parts.ownership?.relations.has(name))
    this.#callerValues = [...new Set(this.compared.flatMap(comparedAttributes))]
    this.attributes = this.#callerValues.filter((attribute) => attribute !== 'id')
    this.#isTimed = this.compared.some(isTimed)
    this.#hasTransitions = parts.rules.some(({ after }) => after)
  }

  /**
   * The grants to a caller with these attributes that are known before the object is (`id`: with credentials). Callers
   * who lack the same values share one result. `holding`: the conditions that hold; `any`: whichever the request meets.
   */
  roleLevel(has: Has, holding: readonly string[] | 'any' = 'any'): RoleLevel {
    const lacking = ['id', ...this.attributes].filter((attribute) => !has(attribute))
    // The first ones only, where a table names more conditions than anybody would read.
    const sets = holding === 'any' ? subsets(this.conditions.slice(0, MOST_CONDITIONS)) : [this.#named(holding)]
    const key = lacking.length + this.conditions.length === 0 ? '' : JSON.stringify([lacking, sets])
    const known = this.#roleLevels.get(key)
    if (known) return known
    const inside = {
      parts: this.#parts,
      classes: this.#classes,
      compared: this.compared,
      grant: (names: readonly string[]) => this.grant(names),
    }
    const made = new RoleLevel(inside, (attribute) => !lacking.includes(attribute), sets)
    this.#roleLevels.set(key, made)
    return made
  }

  /** The grant when exactly these relations and conditions hold. */
  grant(names: readonly string[]): Grant {
    const key = this.#keyOf(names)
    const known = this.#cells.get(key)
    if (known) return known.grant
    return this.#keep(this.#cells, key, { stored: this.#relevant(names) })
  }

  /** The grant for the result of a write to an object. */
  grantResult(names: ResultNames): Grant {
    const stored = this.#keyOf(names.stored)
    const mixed = this.#keyOf(names.mixed)
    // Without a right side, a rule that fits both times alike is decided as it is for the object.
    if (stored === mixed && !this.#hasTransitions) return this.grant(names.stored)
    const proposed = this.#keyOf(names.proposed)
    const key =
      this.#names.length <= MOST_BITS_OF_THREE
        ? Number(stored) | (Number(mixed) << MOST_BITS_OF_THREE) | (Number(proposed) << (2 * MOST_BITS_OF_THREE))
        : [stored, mixed, proposed].join('>')
    const known = this.#results.get(key)
    if (known) return known.grant
    return this.#keep(this.#results, key, {
      stored: this.#relevant(names.stored),
      mixed: this.#relevant(names.mixed),
      proposed: this.#relevant(names.proposed),
    })
  }

  /** Of these conditions, those that count here. */
  #named(holding: readonly string[]): readonly string[] {
    return this.conditions.length === 0 ? this.conditions : this.conditions.filter((name) => holding.includes(name))
  }

  #relevant(names: readonly string[]): readonly string[] {
    return this.#names.filter((name) => names.includes(name))
  }

  /** The key of a set of names: equal for two sets exactly if the same names that count are in both. */
  #keyOf(names: readonly string[]): string | number {
    if (this.#names.length > MOST_BITS) return this.#relevant(names).join('+')
    let bits = 0
    for (const name of names) bits |= this.#bits.get(name) ?? 0
    return bits
  }

  #keep(cells: Map<string | number, GrantCell>, key: string | number, held: HeldNames): Grant {
    this.#budget.take(this)
    const grant = this.#make(held)
    cells.set(key, { held, grant })
    return grant
  }

  /** Forgets all cells: they are made again when they are needed. */
  forgetCells(): void {
    this.#cells.clear()
    this.#results.clear()
  }

  /** Forgets all cells, and counts as no keeper until it makes new ones: nobody keeps the table any more. */
  release(): void {
    this.#budget.leave(this, this.#cells.size + this.#results.size)
    this.forgetCells()
  }

  /** Whether the rule's views name one of the fields. */
  names(rule: Rule, fields: Iterable<string>): boolean {
    for (const field of fields) if (ruleNames(this.#parts.views, rule, field)) return true
    return false
  }

  /**
   * Matches exactly the objects on which the action is allowed so that a field of the view is granted (semantics.md,
   * "list"; no view: any field). The same caller gets the same condition object, unless a relation looks at the time.
   */
  where(asking: CallerAndTime, holding: readonly string[], view: ReadonlySet<string> | undefined): Condition {
    const classes = this.#classesIn(view)
    const conditions = this.#named(holding)
    const make = () => filterOf(this.#parts, classes, asking, conditions)
    if (this.#isTimed) return make()
    const values = this.#callerValues.map((name) => asking.valuesOf(name))
    const key = JSON.stringify([values, conditions, view ? [...view] : null])
    return this.#wheres(key, make)
  }

  /** Matches the objects that pass the first decision of a write, whatever it would make of them. */
  whereStored(asking: CallerAndTime, holding: readonly string[], view?: ReadonlySet<string>): Condition {
    const { rules, ...rest } = this.#parts
    const first = rules.filter(isOfFirstDecision).map(({ after: _, ...rule }) => rule)
    return filterOf({ ...rest, rules: first }, this.#classesIn(view), asking, this.#named(holding))
  }

  #classesIn(view: ReadonlySet<string> | undefined): readonly (readonly string[])[] {
    return view ? this.#classes.filter((fields) => fields.some((field) => view.has(field))) : this.#classes
  }

  /** The objects on which each class of fields is granted; for a write, if it leaves the object as it is. */
  granted(asking: CallerAndTime, holding: readonly string[]): readonly GrantedWhere[] {
    const conditions = this.#named(holding)
    return this.#classes.map((fields) => ({ fields, where: whereGranted(this.#parts, fields, asking, conditions) }))
  }

  /** The same text for tables that grant the same, whoever has them and whatever policy they are of. */
  get meaning(): string {
    this.#meaning ??= this.#findMeaning()
    return this.#meaning
  }

  #findMeaning(): string {
    const { resource, rules, views } = this.#parts
    const fieldsOf = (view: string) => [...(view === '*' ? resource.fields.keys() : (views?.get(view) ?? []))]
    const granted = rules.map(({ effect, before, after, views: named }) =>
      JSON.stringify([effect, before, after ?? null, named.flatMap(fieldsOf).sort()]),
    )
    return JSON.stringify([granted.sort(), this.compared.map((one) => [one.name, meaningOf(one)])])
  }

  /** The names of each cell, for warming the table of the next snapshot. */
  get cellsInUse(): readonly HeldNames[] {
    return [...this.#cells.values(), ...this.#results.values()].map(({ held }) => held)
  }

  /** Makes a cell that another table has. */
  warm({ stored, mixed, proposed }: HeldNames): void {
    if (mixed && proposed) this.grantResult({ stored, mixed, proposed })
    else this.grant(stored)
  }

  #make(held: HeldNames): Grant {
    const { isGranted, rules } = this.#parts
    const { stored, mixed, proposed } = held
    const matching =
      mixed && proposed
        ? rules.filter((rule) => fitsResult(rule, { stored, mixed, proposed }))
        : rules.filter((rule) => fitsObject(rule, stored))
    const granted = this.#classes.filter(([field = '*']) => isGranted(field, held, matching))
    return Object.freeze({
      fields: new Set(granted.flat()),
      allows: matching.filter(({ effect }) => effect === 'allow'),
      denies: matching.filter(({ effect }) => effect === 'deny'),
      lines: matching.map(({ line }) => line),
    })
  }
}

function classesOf({ resource, action, rules, views }: TableParts): readonly (readonly string[])[] {
  if (!action.hasFields) return [['*']]
  const named = [...new Set(rules.flatMap((rule) => rule.views))]
  const signature = (field: string) => named.map((view) => (views?.get(view)?.has(field) ? '1' : '0')).join('')
  return [...Map.groupBy(resource.fields.keys(), signature).values()]
}

// The number of cells that a snapshot keeps. Callers whose relations differ in ever new ways could otherwise fill the
// memory; beyond the bound all cells are forgotten, and made again as they are needed.

/** About 100 MB, if each cell has its own fields and rules; real policies have some hundreds. */
const MOST_CELLS = 100_000

interface Keeper {
  forgetCells(): void
}

export class CellBudget {
  readonly conditions = new KeptConditions()
  readonly #most: number
  readonly #keepers = new Set<Keeper>()
  #taken = 0

  constructor(most = MOST_CELLS) {
    this.#most = most
  }

  get taken(): number {
    return this.#taken
  }

  /** No longer counts the cells of this keeper. */
  leave(keeper: Keeper, cells: number): void {
    if (this.#keepers.delete(keeper)) this.#taken -= cells
  }

  /** Counts a cell that this keeper is about to keep. */
  take(keeper: Keeper): void {
    if (this.#taken >= this.#most) {
      for (const one of this.#keepers) one.forgetCells()
      this.#keepers.clear()
      this.#taken = 0
    }
    this.#keepers.add(keeper)
    this.#taken += 1
  }
}

// The conditions of lists that a snapshot keeps, of all its tables together: those asked for last. What callers compare
// may be asserted by somebody else, and so be ever new and long.

/** In characters of the keys; with the conditions, some tens of megabytes at most. */
const MOST_KEPT = 8_000_000
const LONGEST_KEPT = 4096

/** A condition takes this much memory at least, so that 20,000 of them are kept at most. */
const LEAST = 400

export class KeptConditions {
  #tables = 0
  readonly #kept = new LRUCache<string, Condition>({
    // A cache with `max` would allocate its memory at once, and tools make many snapshots.
    maxSize: MOST_KEPT,
    maxEntrySize: LONGEST_KEPT,
    sizeCalculation: (_, key) => Math.max(LEAST, key.length),
  })

  /** A place of its own for a table, whose keys are those of no other. */
  ofTable(): (key: string, make: () => Condition) => Condition {
    this.#tables += 1
    const table = this.#tables
    return (key, make) => {
      const whole = `${table} ${key}`
      const known = this.#kept.get(whole)
      if (known) return known
      const made = make()
      this.#kept.set(whole, made)
      return made
    }
  }

  /** In characters of the keys, as they are counted. */
  get size(): number {
    return this.#kept.calculatedSize
  }
}
