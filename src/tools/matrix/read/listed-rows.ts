/**
 * The rows of a list, as a cell states them: `[all]`, `[none]`, or by relations. `+` adds rows and `&` narrows them:
 * `[owner+team&!draft]` are the caller's own objects, and those of the team that aren't drafts.
 */
import { isDeepStrictEqual } from 'node:util'
import { failed, type Parsed, parsed } from './parsed.ts'

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
export function parseRows(text: string): Parsed<ListedRows> {
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
  return { held: sorted(namesOf('')), lacking: sorted(namesOf('!')) }
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort()
}
