/**
 * The keys of an object: what conditions, orders and indexes look at, so that no statement looks into a document. A key
 * is a text. Keys have the order of values in lists: numbers, texts by code points, false, true, lists.
 */
import { instantOf } from '../../../base/time.ts'
import { type Document, isScalar, type Scalar } from '../../../resources/object.ts'
import type { Json } from '../../../resources/resource.ts'
import type { SortValue } from '../../contract.ts'
import { decodeText, encodeText, HASH_LENGTH, indexedText, LONGEST_BYTES } from '../stored-text.ts'

/** The first character of a key. */
export const KIND = { number: '1', text: '2', no: '3', yes: '4', list: '5', end: '6' } as const

/** The key of a list. The keys of its elements follow it. */
export const LIST = KIND.list

export function keyOf(value: Scalar): string {
  if (typeof value === 'string') return KIND.text + indexedText(value).indexable
  if (typeof value === 'number') return KIND.number + sortableNumber(value)
  return value ? KIND.yes : KIND.no
}

/** The keys of long texts with this beginning, in SQL: from the first to the last possible one. */
export interface LongKeys {
  readonly first: string
  readonly last: string
  /** The whole text, as it is encoded. */
  readonly whole: string
}

/** Undefined for a value whose key has all of it. */
export function longKeysOf(value: SortValue): LongKeys | undefined {
  const beginning = typeof value === 'string' ? indexedText(value).beginning : undefined
  if (typeof value !== 'string' || beginning === undefined) return undefined
  const first = KIND.text + beginning
  // Greater than all characters of hashes.
  return { first, last: `${first}~`, whole: encodeText(value) }
}

/** SQL: whether the key is that of a long text, so that it has a hash. */
export function isLongSql(key: string): string {
  return `octet_length(${key}) > ${LONGEST_BYTES + 1}`
}

/** SQL: the key of a long text without its hash. */
export function withoutHashSql(key: string): string {
  return `left(${key}, -${HASH_LENGTH})`
}

/** The key of a place in an order; a missing value has none. */
export function keyOfSortValue(value: Exclude<SortValue, null>): string {
  return isScalar(value) ? keyOf(value) : LIST
}

/** 16 digits, whose order is the order of the numbers (IEEE 754: a negative number has its bits inverted). */
function sortableNumber(value: number): string {
  const bytes = new DataView(new ArrayBuffer(8))
  bytes.setFloat64(0, value === 0 ? 0 : value)
  const bits = bytes.getBigUint64(0)
  const sortable = value < 0 ? ~bits & 0xffff_ffff_ffff_ffffn : bits | 0x8000_0000_0000_0000n
  return sortable.toString(16).padStart(16, '0')
}

/** The value that has the key; a long text has none that tells it. */
export function valueOfKey(key: string): Scalar {
  const rest = key.slice(1)
  if (key[0] === KIND.text) return decodeText(rest)
  return key[0] === KIND.number ? numberOfKey(rest) : key[0] === KIND.yes
}

function numberOfKey(digits: string): number {
  const sortable = BigInt(`0x${digits}`)
  const isNegative = sortable < 0x8000_0000_0000_0000n
  const bytes = new DataView(new ArrayBuffer(8))
  bytes.setBigUint64(0, isNegative ? ~sortable & 0xffff_ffff_ffff_ffffn : sortable & 0x7fff_ffff_ffff_ffffn)
  return bytes.getFloat64(0)
}

export interface ObjectKeys {
  /** JSON: by field, the key of its value; of a list, LIST and the keys of its elements that have a value. */
  readonly keys: string
  /** JSON: by field, the instant that its text means; of a list, null and the instants of its elements. */
  readonly times: string
}

export function keysOf(id: string, document: Document): ObjectKeys {
  const keys: string[] = []
  const times: string[] = []
  const add = (field: string, value: Json) => {
    const [fieldKeys, instants] = [keysOfValue(value), instantsOfValue(value)]
    if (fieldKeys) keys.push(member(field, fieldKeys))
    if (instants) times.push(member(field, instants))
  }
  for (const [field, value] of Object.entries(document)) add(field, value)
  const idInstants = instantsOfValue(id)
  if (idInstants) times.push(member('id', idInstants))
  return { keys: `{${keys.join()}}`, times: `{${times.join()}}` }
}

function member(field: string, value: readonly (string | null)[]): string {
  return `${JSON.stringify(encodeText(field))}:${JSON.stringify(value)}`
}

function keysOfValue(value: Json): readonly string[] | undefined {
  if (Array.isArray(value)) return [LIST, ...value.filter(isScalar).map(keyOf)]
  return isScalar(value) ? [keyOf(value)] : undefined
}

function instantsOfValue(value: Json): readonly (string | null)[] | undefined {
  if (typeof value === 'string') {
    const instant = instantOfText(value)
    return instant === undefined ? undefined : [instant]
  }
  if (!Array.isArray(value)) return undefined
  const instants = value.flatMap((one) => (typeof one === 'string' ? (instantOfText(one) ?? []) : []))
  return instants.length === 0 ? undefined : [null, ...instants]
}

/** Most texts aren't times, and some are long. */
function instantOfText(text: string): string | undefined {
  return text.charAt(4) === '-' && text.charAt(13) === ':' ? instantOf(text) : undefined
}
