/**
 * All that the policy says to one set of subjects about one action on one resource. Its cells (what is granted when
 * exactly the relations S hold) are made by Casbin, on first use, and kept; a request costs a look-up.
 */
import type { Action, Field, Resource } from '../resources/resource.ts'
import type { Condition } from '../store/contract.ts'
import { RecentlyUsed } from '../store/recently-used.ts'
import type { Ask } from './casbin.ts'
import { filterOf, names } from './list-filter.ts'
import type { AttributeOf } from './ownership.ts'
import type { Ownership, Relation, Rule, Views } from './policy.ts'

/** A cell of semantics.md: the granted fields (the pseudo-field `*` for an action without), and the rules that matched. */
export interface Grant {
  readonly fields: ReadonlySet<string>
  readonly rules: readonly Rule[]
}

interface PageParts {
  readonly resource: Resource
  readonly action: Action
  /** The rules whose subject, resource and action fit, and whose relations the resource has. */
  readonly rules: readonly Rule[]
  readonly views: Views | undefined
  readonly ownership: Ownership | undefined
  /** Casbin, holding at least these rules, for these subjects. */
  readonly ask: Ask
  /** The subject name that `ask` knows the caller by. */
  readonly subject: string
}

interface Cell {
  /** Exactly those that hold, of those that count. */
  readonly relations: readonly string[]
  readonly grant: Grant
}

/** How many callers' conditions a page keeps; they are made in some ten microseconds. */
const CALLERS = 1000

/** Bitwise operators take numbers of 32 bits. */
const MOST_BITS = 31

export class Page {
  readonly #parts: PageParts
  /** Fields that no view tells apart: Casbin is asked about the first of each class. */
  readonly #classes: readonly (readonly string[])[]
  /** The relations that rules of this page name; others don't count. */
  readonly #relations: readonly string[]
  readonly #cells = new Map<string | number, Cell>()
  /** A bit for each relation: together they tell sets of relations apart. */
  readonly #bits: ReadonlyMap<string, number>
  /** The lines of policy.csv that are on this page, whatever the relations. */
  readonly lines: readonly number[]
  /** The relations that rules of this page name, as ownership.yaml declares them. */
  readonly compared: readonly Relation[]
  /** Attributes of the caller, besides the id, that the rules of this page compare. */
  readonly attributes: readonly string[]
  #grantable: ReadonlySet<string> | undefined
  #everywhere: ReadonlySet<string> | undefined
  #queryable: ReadonlyMap<string, Field> | undefined
  /** By the caller's values that relations compare. */
  readonly #wheres = new RecentlyUsed<Condition>(CALLERS)

  constructor(parts: PageParts) {
    this.#parts = parts
    this.#classes = classesOf(parts)
    this.#relations = [...new Set(parts.rules.flatMap((rule) => rule.relations))].sort()
    this.#bits = new Map(this.#relations.map((name, i) => [name, 1 << i]))
    this.lines = parts.rules.map((rule) => rule.line)
    this.compared = this.#relations.flatMap((name) => parts.ownership?.relations.get(name) ?? [])
    this.attributes = this.compared.flatMap((one) =>
      one.kind === 'caller' && one.attribute !== 'id' ? [one.attribute] : [],
    )
  }

  /**
   * Role level: whether some relation set would be allowed. It is enough to ask for the set of each allow rule: with
   * more relations the rule grants no more, and only denies can join.
   */
  get reachable(): boolean {
    return this.grantable.size > 0
  }

  /** What is granted where no object is concerned, so that no relation can hold. */
  get unrelated(): ReadonlySet<string> {
    return this.grant([]).fields
  }

  /** The fields that some allow rule names, whatever denies take away. */
  get allowable(): ReadonlySet<string> {
    const allows = this.#parts.rules.filter(({ effect }) => effect === 'allow')
    return new Set(
      this.#classes.filter(([field = '*']) => allows.some((rule) => names(this.#parts, rule, field))).flat(),
    )
  }

  /** The fields that are granted for some relation set; as with `reachable`, the sets of the allow rules are enough. */
  get grantable(): ReadonlySet<string> {
    this.#grantable ??= new Set(
      this.#parts.rules
        .filter(({ effect }) => effect === 'allow')
        .flatMap((rule) => [...this.grant(rule.relations).fields]),
    )
    return this.#grantable
  }

  /**
   * The fields that every row shows, as far as rules tell: each allow rule names them, and a deny that names one of them
   * names every field, so that its rows are no rows of the list (semantics.md, "list").
   */
  get shownInEveryRow(): ReadonlySet<string> {
    this.#everywhere ??= new Set(this.#classes.filter(([field = '*']) => this.#isEverywhere(field)).flat())
    return this.#everywhere
  }

  /** The fields that each row shows, where no two rows differ; else undefined. */
  get shownAlike(): ReadonlySet<string> | undefined {
    // What is in every row is in some row.
    return this.shownInEveryRow.size === this.grantable.size ? this.grantable : undefined
  }

  /**
   * The fields, by name, that a list may be filtered and sorted by. The id is the table's key, so it needs no index of
   * its own.
   */
  get queryable(): ReadonlyMap<string, Field> {
    this.#queryable ??= new Map(
      [...this.#parts.resource.fields].filter(([name, { indexed }]) => {
        return this.shownInEveryRow.has(name) && (indexed || name === 'id')
      }),
    )
    return this.#queryable
  }

  /** What is granted when exactly these relations hold. */
  grant(relations: readonly string[]): Grant {
    const key = this.#keyOf(relations)
    const known = this.#cells.get(key)
    if (known) return known.grant
    const relevant = this.#relations.filter((name) => relations.includes(name))
    const made = { relations: relevant, grant: this.#make(relevant) }
    this.#cells.set(key, made)
    return made.grant
  }

  /** The same for the same set of relations that count, and for no other. */
  #keyOf(relations: readonly string[]): string | number {
    if (this.#relations.length > MOST_BITS) return this.#relations.filter((name) => relations.includes(name)).join('+')
    let bits = 0
    for (const name of relations) bits |= this.#bits.get(name) ?? 0
    return bits
  }

  /** The objects for which the action is allowed, one by one (semantics.md, "list"). The same condition for the same caller. */
  where(attributeOf: AttributeOf): Condition {
    const key = JSON.stringify(['id', ...this.attributes].map((name) => attributeOf(name) ?? null))
    return this.#wheres.get(key, () => filterOf(this.#parts, this.#classes, attributeOf))
  }

  /** The relation sets that have a cell, for warming the page of the next snapshot. */
  get cellsInUse(): readonly (readonly string[])[] {
    return [...this.#cells.values()].map(({ relations }) => relations)
  }

  #make(relations: readonly string[]): Grant {
    const { ask, subject, resource, action, rules } = this.#parts
    const granted = this.#classes.filter((fields) =>
      ask({ subject, resource: resource.name, action: action.name, relations, field: fields[0] ?? '*' }),
    )
    const matching = rules.filter((rule) => rule.relations.every((name) => relations.includes(name)))
    return Object.freeze({ fields: new Set(granted.flat()), rules: matching })
  }

  #isEverywhere(field: string): boolean {
    return this.#parts.rules.every((rule) =>
      rule.effect === 'allow'
        ? names(this.#parts, rule, field)
        : !names(this.#parts, rule, field) || this.#classes.every(([other = '*']) => names(this.#parts, rule, other)),
    )
  }
}

function classesOf({ resource, action, rules, views }: PageParts): readonly (readonly string[])[] {
  if (!action.hasFields) return [['*']]
  const named = [...new Set(rules.flatMap((rule) => rule.views))]
  const signature = (field: string) => named.map((view) => (views?.get(view)?.has(field) ? '1' : '0')).join('')
  return [...Map.groupBy(resource.fields.keys(), signature).values()]
}
