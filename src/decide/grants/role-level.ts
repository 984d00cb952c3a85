/**
 * The grants to a caller on at least one object: all that is known about a request before its object is. Only the
 * caller counts here; whether an object's state makes state relations hold is checked later.
 */

import type { Field } from '../../resources/resource.ts'
import type { Ownership, Rule } from '../policy.ts'
import { kindOf } from '../relations/all-kinds.ts'
import type { Has } from '../relations/relation-kind.ts'
import { ruleNames } from '../rules/rule.ts'
import type { Grant, TableParts } from './grant.ts'

interface TableInside {
  readonly parts: TableParts
  /** Classes of fields that no view distinguishes. */
  readonly classes: readonly (readonly string[])[]
  readonly grant: (relations: readonly string[]) => Grant
}

export class RoleLevel {
  readonly #table: TableInside
  /** The rules that could match, and that name a field of this resource. */
  readonly rules: readonly Rule[]
  /** Their lines in policy.csv. */
  readonly lines: readonly number[]
  #grantable: ReadonlySet<string> | undefined
  #everywhere: ReadonlySet<string> | undefined
  #queryable: ReadonlyMap<string, Field> | undefined

  constructor(table: TableInside, has: Has) {
    const { parts, classes } = table
    this.#table = table
    this.rules = parts.rules.filter(
      (rule) =>
        couldHold(parts.ownership, rule, has) && classes.some(([field = '*']) => ruleNames(parts.views, rule, field)),
    )
    this.lines = this.rules.map(({ line }) => line)
  }

  /** Whether some set of relations that the caller could have would be allowed. */
  get allowed(): boolean {
    return this.grantable.size > 0
  }

  /**
   * The fields that are granted for some set of relations that the caller could have. It is enough to check the set of
   * each allow rule: with more relations the rule doesn't grant more, and only further denies can match.
   */
  get grantable(): ReadonlySet<string> {
    this.#grantable ??= new Set(this.#allows.flatMap((rule) => [...this.#table.grant(rule.relations).fields]))
    return this.#grantable
  }

  /** The fields that some allow rule names, without regard to denies. */
  get allowable(): ReadonlySet<string> {
    const allowed = this.#table.classes.filter(([field = '*']) => this.#allows.some((rule) => this.#names(rule, field)))
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
  relationColumns(of: 'allows' | 'all'): readonly (readonly string[])[] {
    const rules = of === 'all' ? this.rules : this.#allows
    return [...new Map(rules.map(({ relations }) => [relations.join('+'), relations])).values()]
  }

  get #allows(): readonly Rule[] {
    return this.rules.filter(({ effect }) => effect === 'allow')
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

/**
 * Whether this resource declares all relations of a rule, and they could hold for a caller with these attributes. An
 * absent attribute equals nothing, and a rule for `*` may name a relation that this resource doesn't have.
 */
function couldHold(ownership: Ownership | undefined, { relations }: Pick<Rule, 'relations'>, has: Has): boolean {
  return relations.every((name) => {
    const relation = ownership?.relations.get(name)
    return relation !== undefined && kindOf(relation).couldHold(relation, has)
  })
}
