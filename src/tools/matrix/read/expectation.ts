/**
 * The content of one cell of a matrix: a caller, a request, an object, and the expected answer, with their texts. `+` adds
 * rows of a list and `&` narrows them: `[owner+team&!draft]` are the own objects, and those of the team that aren't drafts.
 */

import { isDeepStrictEqual } from 'node:util'
import type { Place } from '../../../base/diagnostic.ts'
import type { Caller } from '../../../decide/caller.ts'
import type { Method } from '../../../resources/resource.ts'

/**
 * The object that a request is about. `none`: the path names no object; `missing`: it names one that doesn't exist;
 * `other`: one exists and no relation of ownership.yaml holds; `relations`: just these hold (sorted; `own` is `owner`).
 */
export type ObjectState =
  | { readonly kind: 'none' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'other' }
  | { readonly kind: 'relations'; readonly names: readonly string[] }

/** Who asks. `roles` is sorted, and empty for `everyone`: a caller with credentials and without a role. */
export type MatrixColumn =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'roles'; readonly roles: readonly string[] }
  | { readonly kind: 'user'; readonly id: string }

/** A caller with credentials. */
export type KnownColumn = Exclude<MatrixColumn, { readonly kind: 'anonymous' }>

/** What happens to an object while a caller follows the events of its resource. */
export const HAPPENINGS = ['created', 'changed', 'deleted'] as const

export type Happening = (typeof HAPPENINGS)[number]

/** What the caller is told of it. `reset`: to read its list again; `nothing`: the next event is about something else. */
export const TOLD_WORDS = ['appeared', 'changed', 'gone', 'reset', 'nothing'] as const

export type ToldWord = (typeof TOLD_WORDS)[number]

export interface Expected {
  readonly status: number
  /** The event that the caller is told. */
  readonly told?: ToldWord
  /** The answer shows exactly the fields of this view of views.yaml. */
  readonly view?: string
  /** The list has exactly these objects, among those that the run created for this cell. */
  readonly list?: ListedRows
}

/** One cell, for one of the methods of its row. */
export interface Expectation {
  /** The cell's position in its file. */
  readonly place: Place
  readonly method: Method
  /** As the schema's route writes it, `{id}` for the parameter. */
  readonly path: string
  readonly object: ObjectState
  readonly column: MatrixColumn
  /** The caller follows events meanwhile; `object` is as it was before. */
  readonly event?: Happening
  /** The conditions of conditions.yaml that hold for the request, sorted; absent if none does. */
  readonly when?: readonly string[]
  /** Conditions that the row names as not holding. No condition outside of `when` holds, whether named here or not. */
  readonly whenNot?: readonly string[]
  /**
   * All relations that hold for the object as the request would leave it, sorted: the body changes the object so. Absent
   * if the body isn't made for that.
   */
  readonly becomes?: readonly string[]
  /** The path of the file that the request sends; absent for the smallest valid body. */
  readonly body?: string
  readonly note?: string
  readonly expected: Expected
}

/**
 * A cell that expects 428 is asked without `If-Match`. Every other cell sends the object's current tag if the route
 * requires it.
 */
export function isUnconditional({ expected }: Pick<Expectation, 'expected'>): boolean {
  return expected.status === 428
}

/**
 * The caller of a column; undefined without credentials. No rule names the id '', which stands for anybody with these
 * roles.
 */
export function callerIn(column: MatrixColumn, id = '', claims: Caller['claims'] = {}): Caller | undefined {
  return column.kind === 'anonymous' ? undefined : knownIn(column, id, claims)
}

/** The same for a column with credentials. */
export function knownIn(column: KnownColumn, id: string, claims: Caller['claims'] = {}): Caller {
  return column.kind === 'user' ? { id: column.id, roles: [], claims } : { id, roles: column.roles, claims }
}

/** As a matrix writes it; `own` for the owner alone. */
export function objectText(object: ObjectState): string {
  if (object.kind !== 'relations') return object.kind
  return object.names.length === 1 && object.names[0] === 'owner' ? 'own' : object.names.join('+')
}

/** The relations that hold for sure: none for an object without any, or for no object. */
export function heldIn(object: ObjectState): readonly string[] {
  return object.kind === 'relations' ? object.names : []
}

/** An object that exists, with exactly these relations. */
export function stateOf(names: Iterable<string>): ObjectState {
  const held = [...names].sort()
  return held.length === 0 ? { kind: 'other' } : { kind: 'relations', names: held }
}

/** As the column `when` writes it; empty if no condition holds. */
export function whenText({ when = [], whenNot = [] }: Pick<Expectation, 'when' | 'whenNot'>): string {
  return [...when, ...whenNot.map((name) => `!${name}`)].join('+')
}

/** As the head of a matrix writes it. */
export function columnText(column: MatrixColumn): string {
  if (column.kind === 'anonymous') return 'anonymous'
  if (column.kind === 'user') return `user:${column.id}`
  return column.roles.length === 0 ? 'everyone' : column.roles.join('+')
}

/** As a cell writes it. */
export function expectedText({ status, told, view, list }: Expected): string {
  return [String(status), told, list && rowsText(list), view].filter((part) => part !== undefined).join(' ')
}

export type ListedRows = { readonly kind: 'all' } | { readonly kind: 'none' } | RelatedRows

/** The objects that fit at least one of these terms. */
export interface RelatedRows {
  readonly kind: 'related'
  readonly ways: readonly RowTerm[]
}

/** All relations in `held` hold between the caller and the object; no relation in `lacking` does. Both are sorted. */
export interface RowTerm {
  readonly held: readonly string[]
  readonly lacking: readonly string[]
}

export const OWN: RelatedRows = { kind: 'related', ways: [{ held: ['owner'], lacking: [] }] }

export function isOwnRows(rows: ListedRows): boolean {
  return isDeepStrictEqual(rows, OWN)
}

/** Words with a meaning of their own, so a cell can't name a relation with them. */
const RESERVED: ReadonlySet<string> = new Set(['own', 'all', 'none'])

export function isWritable(relation: string): boolean {
  return !RESERVED.has(relation)
}

/** The text between the brackets. */
export function parseRows(text: string): ParsedWord<ListedRows> {
  const word = text.trim().toLowerCase()
  if (word === 'all' || word === 'none') return parsed({ kind: word })
  const ways = text.split('+').map(wayIn)
  const hint = 'write [own], [all], [none], or relations as in [own+team] or [team&!draft]'
  if (ways.some((way) => way === undefined)) return failed(`\`[${text}]\` does not say which rows a list holds`, hint)
  const known = ways.flatMap((way) => way ?? [])
  const both = known.flatMap(({ held, lacking }) => held.filter((name) => lacking.includes(name)))[0]
  if (both !== undefined) return failed(`\`${both}\` can't hold and not hold`, 'keep one of them')
  return parsed(relatedBy(known))
}

/** Each term once, in the order of the texts. */
export function relatedBy(ways: readonly RowTerm[]): RelatedRows {
  const distinct = new Map(ways.map((way) => [wayText(way), way]))
  return { kind: 'related', ways: [...distinct.keys()].sort().flatMap((key) => distinct.get(key) ?? []) }
}

/** The text of a cell. */
export function rowsText(rows: ListedRows): string {
  return `[${rows.kind === 'related' ? rows.ways.map(wayText).join('+') : rows.kind}]`
}

/** The relations that the rows name. */
export function relationsIn(rows: ListedRows | undefined): readonly string[] {
  return rows?.kind === 'related' ? rows.ways.flatMap(({ held, lacking }) => [...held, ...lacking]) : []
}

/** Whether the list holds an object with exactly these relations. */
export function isListed(rows: ListedRows, relations: ReadonlySet<string>): boolean {
  if (rows.kind !== 'related') return rows.kind === 'all'
  return rows.ways.some((way) => fitsWay(way, relations))
}

export function fitsWay({ held, lacking }: RowTerm, relations: ReadonlySet<string>): boolean {
  return held.every((name) => relations.has(name)) && !lacking.some((name) => relations.has(name))
}

/** Writes `own` for the relation `owner` alone. */
function wayText({ held, lacking }: RowTerm): string {
  const terms = [...held, ...lacking.map((name) => `!${name}`)]
  return terms.length === 1 && terms[0] === 'owner' ? 'own' : terms.join('&')
}

function wayIn(text: string): RowTerm | undefined {
  const terms = text.split('&').map((term) => /^\s*(!?)\s*([\w-]+)\s*$/.exec(term))
  if (terms.some((term) => term === null)) return undefined
  const namesOf = (sign: string) =>
    terms.flatMap((term) => (term?.[1] === sign ? [term[2]?.toLowerCase() === 'own' ? 'owner' : (term[2] ?? '')] : []))
  return { held: sortedSet(namesOf('')), lacking: sortedSet(namesOf('!')) }
}

export function sortedSet(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort()
}

/** A value, or the fault of the word and what to write instead. */
export type ParsedWord<T> =
  | { readonly kind: 'parsed'; readonly value: T }
  | { readonly kind: 'wrong'; readonly message: string; readonly hint: string }

export function parsed<T>(value: T): ParsedWord<T> {
  return { kind: 'parsed', value }
}

export function failed(message: string, hint: string): ParsedWord<never> {
  return { kind: 'wrong', message, hint }
}
