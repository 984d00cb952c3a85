/**
 * All grants of the policy to one set of subjects for one action on one resource. A cell (the grant when exactly the
 * relations S hold) is computed on first use and kept, so a request costs a look-up.
 */

import { LRUCache } from 'lru-cache'
import type { Condition } from '../condition.ts'
import type { Rule } from '../policy.ts'
import { comparedAttributes, type Relation } from '../relations/all-kinds.ts'
import type { AttributeOf, Has } from '../relations/relation-kind.ts'
import { ruleNames } from '../rules/rule.ts'
import type { Grant, TableParts } from './grant.ts'
import { filterOf } from './list-filter.ts'
import { RoleLevel } from './role-level.ts'

interface Cell {
  /** Exactly the relations that hold, of those that count. */
  readonly relations: readonly string[]
  readonly grant: Grant
}

/** The number of callers whose conditions a table keeps; a condition is computed in about ten microseconds. */
const CALLERS = 1000

/** Bitwise operators take numbers of 32 bits. */
const MOST_BITS = 31

export class GrantTable {
  readonly #parts: TableParts
  /** Classes of fields that no view distinguishes: a cell asks about the first field of each class. */
  readonly #classes: readonly (readonly string[])[]
  /** The relations that rules of this table name; others don't count. */
  readonly #relations: readonly string[]
  readonly #cells = new Map<string | number, Cell>()
  /** A bit for each relation; the bits of a set identify it. */
  readonly #bits: ReadonlyMap<string, number>
  /** The relations that rules of this table name, as ownership.yaml declares them. */
  readonly compared: readonly Relation[]
  /** Attributes of the caller, besides the id, that the rules of this table compare. */
  readonly attributes: readonly string[]
  /** The caller's values that relations compare: `id`, and attributes. */
  readonly #callerValues: readonly string[]
  /** By the compared values that the caller lacks. */
  readonly #roleLevels = new Map<string, RoleLevel>()
  /** By the compared values of the caller. */
  readonly #wheres = new LRUCache<string, Condition, AttributeOf>({
    // A cache with `max` would allocate its memory at once, and there are many tables.
    maxSize: CALLERS,
    sizeCalculation: () => 1,
    memoMethod: (_key, _stale, { context: attributeOf }) => filterOf(this.#parts, this.#classes, attributeOf),
  })

  constructor(parts: TableParts) {
    this.#parts = parts
    this.#classes = classesOf(parts)
    this.#relations = [...new Set(parts.rules.flatMap((rule) => rule.relations))].sort()
    this.#bits = new Map(this.#relations.map((name, i) => [name, 1 << i]))
    this.compared = this.#relations.flatMap((name) => parts.ownership?.relations.get(name) ?? [])
    this.#callerValues = [...new Set(this.compared.flatMap(comparedAttributes))]
    this.attributes = this.#callerValues.filter((attribute) => attribute !== 'id')
  }

  /** The grant if no object is concerned, so that no relation can hold. */
  get unrelated(): ReadonlySet<string> {
    return this.grant([]).fields
  }

  /**
   * The grants to a caller with these attributes that are known before the object is (`id`: with credentials). Callers
   * who lack the same values share one result.
   */
  roleLevel(has: Has): RoleLevel {
    const lacking = this.#callerValues.filter((attribute) => !has(attribute))
    const key = lacking.length === 0 ? '' : JSON.stringify(lacking)
    const known = this.#roleLevels.get(key)
    if (known) return known
    const inside = {
      parts: this.#parts,
      classes: this.#classes,
      grant: (relations: readonly string[]) => this.grant(relations),
    }
    const made = new RoleLevel(inside, (attribute) => !lacking.includes(attribute))
    this.#roleLevels.set(key, made)
    return made
  }

  /** The grant when exactly these relations hold. */
  grant(relations: readonly string[]): Grant {
    const key = this.#keyOf(relations)
    const known = this.#cells.get(key)
    if (known) return known.grant
    const relevant = this.#relations.filter((name) => relations.includes(name))
    const made = { relations: relevant, grant: this.#make(relevant) }
    this.#cells.set(key, made)
    return made.grant
  }

  /** The key of a set of relations: equal for two sets exactly if the same relations that count are in both. */
  #keyOf(relations: readonly string[]): string | number {
    if (this.#relations.length > MOST_BITS) return this.#relations.filter((name) => relations.includes(name)).join('+')
    let bits = 0
    for (const name of relations) bits |= this.#bits.get(name) ?? 0
    return bits
  }

  /** Whether the rule's views name one of the fields. */
  names(rule: Rule, fields: Iterable<string>): boolean {
    for (const field of fields) if (ruleNames(this.#parts.views, rule, field)) return true
    return false
  }

  /**
   * Matches exactly the objects on which the action is allowed (semantics.md, "list"). The same caller gets the same
   * condition object.
   */
  where(attributeOf: AttributeOf): Condition {
    const key = JSON.stringify(['id', ...this.attributes].map((name) => attributeOf(name) ?? null))
    return this.#wheres.memo(key, { context: attributeOf })
  }

  /** The relation sets that have a cell, for warming the table of the next snapshot. */
  get cellsInUse(): readonly (readonly string[])[] {
    return [...this.#cells.values()].map(({ relations }) => relations)
  }

  #make(relations: readonly string[]): Grant {
    const { isGranted, rules } = this.#parts
    const matching = rules.filter((rule) => rule.relations.every((name) => relations.includes(name)))
    const granted = this.#classes.filter(([field = '*']) => isGranted(field, relations, matching))
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
