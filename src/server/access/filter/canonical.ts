/** Keys that a database keeps in a form of its own: the texts that stand for one, as its drivers write them. */

import type { Scalar } from '../../../resources/object.ts'
import type { ColumnType } from './tables.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/
const LEAST = -(2n ** 63n)
const MOST = 2n ** 63n - 1n

/** Whether a column of this type can hold the value. Another text (`A1…` for a UUID, `01` for 1) equals none. */
export function canHold(type: ColumnType, value: Scalar): boolean {
  if (typeof value === 'number') return type === 'number'
  if (typeof value === 'boolean') return type === 'boolean'
  if (type === 'uuid') return UUID.test(value)
  if (type === 'bigint') return INTEGER.test(value) && LEAST <= BigInt(value) && BigInt(value) <= MOST
  return type === 'text' || type === 'enum'
}
