/** What crosses between a server and the threads that read for it: plain data. */
import type { Counted, ObjectQuery } from '../../contract.ts'
import type { ReadBounds } from '../../lists/read-bounds.ts'
import type { TablePlan } from '../layout/schema.ts'
import type { PlainFailure } from './failures.ts'

/** `workerData` of a thread that reads. */
export interface ReaderData {
  readonly file: string
  /** Of the file that the server has open (probe.ts). */
  readonly identity: string | undefined
  readonly plans: readonly TablePlan[]
  readonly bounds: ReadBounds
}

export type LongRead =
  | { readonly kind: 'list'; readonly resource: string; readonly query: ObjectQuery }
  | { readonly kind: 'count'; readonly resource: string; readonly query: Pick<ObjectQuery, 'where' | 'filter'> }

export interface ToReader {
  readonly read: LongRead
  /** Not zero: nobody waits for the answer any more. */
  readonly stop: Int32Array
}

/** A row of a list: what JsonRow is made of. */
export type PlainRow = readonly [string, string, string, string, readonly boolean[]]

export type FromReader =
  | { readonly kind: 'list'; readonly rows: readonly PlainRow[] }
  | { readonly kind: 'count'; readonly counted: Counted }
  | { readonly kind: 'failure'; readonly failure: PlainFailure }
