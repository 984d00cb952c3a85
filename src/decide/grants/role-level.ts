/**
 * The grants to a caller on at least one object: all that is known about a request before its object is. Only the
 * caller and the request's conditions count here; whether an object's state makes state relations hold is checked
 * later.
 */

import { subsets } from '../../base/subsets.ts'
import type { Field } from '../../resources/resource.ts'
import type { Ownership, Rule } from '../policy.ts'
import { followsFrom, kindOf, leavesOf } from '../relations/all-kinds.ts'
import type { Has, Relation } from '../relations/relation-kind.ts'
import { byAction, fitsObject, type RelationColumn, relationColumnText, ruleNames } from '../rules/terms.ts'
import type { Grant, TableParts } from './grant.ts'

interface TableInside {
  readonly parts: TableParts
  /** Classes of fields that no view distinguishes. */
  readonly classes: readonly (readonly string[])[]
  /** The relations that rules of the table name. */
  readonly compared: readonly Relation[]
  readonly grant: (names: readonly string[]) => Grant
}

const NOTHING: Pick<Grant, 'fields'> = { fields: new Set() }

export class RoleLevel {
  readonly #table: TableInside
  /** The sets of names that this caller could have, smallest first. */
  readonly #sets: readonly (readonly string[])[]
  /** The rules that could match, and that name a field of this resource. */
  readonly rules: readonly Rule[]
  /** Their lines in policy.csv. */
  readonly lines: readonly number[]
  /** The fields that are granted for some set of relations that the caller could have. */
  readonly grantable: ReadonlySet<string>
  /** Whether some set of relations that the caller could have would be allowed. */
  readonly allowed: boolean
  #everywhere: ReadonlySet<string> | undefined
  #queryable: ReadonlyMap<string, Field> | undefined

  /** `conditions`: the sets of conditions that may hold for the request. */
  constructor(table: TableInside, has: Has, conditions: readonly (readonly string[])[]) {
    const { parts, classes, compared } = table
    this.#table = table
    this.#sets = possibleNames(compared, has('id')).flatMap((names) => conditions.map((set) => [...names, ...set]))
    this.rules = parts.rules.filter(
      (rule) =>
        this.#sets.some((names) => couldFit(rule, names)) &&
        couldHold(parts.ownership, rule, has) &&
        classes.some(([field = '*']) => ruleNames(parts.views, rule, field)),
    )
    this.lines = this.rules.map(({ line }) => line)
    this.grantable = this.#findGrantable()
    this.allowed = this.grantable.size > 0
  }

  /** The fields that some allow rule names, without regard to denies. */
  get allowable(): ReadonlySet<string> {
    const each = byAction(this.#allows, this.#table.parts.action)
    const allowed = this.#table.classes.filter(([field = '*']) =>
      each.every((rules) => rules.some((rule) => this.#names(rule, field))),
    )
    return new Set(allowed.flat())
  }

  /**
   * The fields that every row shows, as far as the rules alone decide: each allow rule names them, and a deny that
   * names one of them names every field, which excludes its rows from the list (semantics.md, "list").
   */
  get shownInEveryRow(): ReadonlySet<string> {
    this.#everywhere ??= new Set(this.#table.classes.filter(([field = '*']) => this.#isEverywhere(field)).flat())
    return this.#everywhere
  }

  /** The fields that each row shows, if all rows show the same; otherwise undefined. */
  get shownAlike(): ReadonlySet<string> | undefined {
    // A field that every row shows is also a field that some row shows.
    return this.shownInEveryRow.size === this.grantable.size ? this.grantable : undefined
  }

  /**
   * The fields, by name, that a list may be filtered and sorted by. The id is the table's key, so it needs no index of
   * its own.
   */
  get queryable(): ReadonlyMap<string, Field> {
    this.#queryable ??= new Map(
      [...this.#table.parts.resource.fields].filter(([name, { indexed }]) => {
        return this.shownInEveryRow.has(name) && (indexed || name === 'id')
      }),
    )
    return this.#queryable
  }

  /** The relation columns of the allow rules, or of all rules: each once. */
  relationColumns(of: 'allows' | 'all'): readonly RelationColumn[] {
    const rules = of === 'all' ? this.rules : this.#allows
    return [...new Map(rules.map((rule) => [relationColumnText(rule), rule])).values()]
  }

  get #allows(): readonly Rule[] {
    return this.rules.filter(({ effect }) => effect === 'allow')
  }

  /** Looks for sets by the rules themselves, and asks for the cell of those that grant something new. */
  #findGrantable(): ReadonlySet<string> {
    const found = new Set<string>()
    const { classes, parts, grant } = this.#table
    for (const names of this.#sets) {
      const matching = parts.rules.filter((rule) => fitsObject(rule, names) && this.#couldMatch(rule))
      const isNew = ([field = '*']: readonly string[]) => {
        const naming = matching.filter((rule) => this.#names(rule, field))
        if (found.has(field) || naming.some(({ effect }) => effect === 'deny')) return false
        return byAction(naming, parts.action).every((some) => some.length > 0)
      }
      const fresh = classes.filter(isNew).flat()
      const { fields } = fresh.length > 0 ? grant(names) : NOTHING
      for (const field of fresh) if (fields.has(field)) found.add(field)
    }
    return found
  }

  /** An allow that needs a relation which this caller can't have grants nothing. */
  #couldMatch(rule: Rule): boolean {
    return rule.effect === 'deny' || this.rules.includes(rule)
  }

  #names(rule: Rule, field: string): boolean {
    return ruleNames(this.#table.parts.views, rule, field)
  }

  #isEverywhere(field: string): boolean {
    return this.rules.every((rule) =>
      rule.effect === 'allow'
        ? this.#names(rule, field)
        : !this.#names(rule, field) || this.#table.classes.every(([other = '*']) => this.#names(rule, other)),
    )
  }
}

/** Whether the rule could match, on the object or, for a deny that asks for a result, on a result. */
function couldFit({ before }: Rule, names: readonly string[]): boolean {
  return fitsObject({ before, effect: 'allow' }, names)
}

/** Whether the relations that the rule needs could hold for a caller with these attributes: absent equals nothing. */
function couldHold(ownership: Ownership | undefined, { before }: Rule, has: Has): boolean {
  return before.every(({ name, negated }) => {
    const relation = ownership?.relations.get(name)
    return negated || !relation || kindOf(relation).couldHold(relation, has)
  })
}

/**
 * The sets of these relations that a caller could have: their leaves are independent, and the relations that consist of
 * others follow (docs/semantics.md, "Role level"). Without credentials, no relation to a caller holds. The parser
 * bounds the leaves of a table.
 */
function possibleNames(compared: readonly Relation[], hasCredentials: boolean): readonly (readonly string[])[] {
  const leaves = [...new Set(compared.flatMap(leavesOf))].filter((leaf) =>
    kindOf(leaf).couldHold(leaf, () => hasCredentials),
  )
  const names = subsets(leaves).map((set) =>
    compared.filter((relation) => followsFrom(relation, (leaf) => set.includes(leaf))).map(({ name }) => name),
  )
  return names.toSorted((a, b) => a.length - b.length)
}
