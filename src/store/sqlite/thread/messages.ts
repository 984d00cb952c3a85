/** What crosses between a server and the thread that writes for it: plain data. */
import type { TablePlan } from '../layout/schema.ts'
import type { PlainFailure } from './failures.ts'

/** A part of a database that the thread opens on a connection of its own. */
export interface Opening {
  readonly file: string
  /** Of the file that the server has open (probe.ts). */
  readonly identity: string | undefined
  readonly content: { readonly kind: 'store'; readonly plans: readonly TablePlan[] } | { readonly kind: 'instances' }
}

export interface Call {
  readonly id: number
  readonly part: number
  readonly target: string
  readonly method: string
  readonly args: readonly unknown[]
  /** The server's time: milliseconds since the epoch. */
  readonly now: number
}

export type ToThread =
  | { readonly kind: 'open'; readonly part: number; readonly opening: Opening }
  | { readonly kind: 'ask'; readonly calls: readonly Call[] }

export interface Answered {
  readonly id: number
  readonly value?: unknown
  /** In place of a value. */
  readonly failure?: PlainFailure
}
