/** What crosses between a server and the threads that read and write for it: plain data. */
import { kindNamed } from '../../errors.ts'
import type { ReadBounds } from '../../lists/read-bounds.ts'
import type { TablePlan } from '../../sql/indexes.ts'

/** A part of a database that the thread opens on a connection of its own. */
export interface Opening {
  readonly file: string
  /** Of the file that the server has open (database.ts). */
  readonly identity: string | undefined
  readonly content:
    | { readonly kind: 'store'; readonly plans: readonly TablePlan[] }
    | { readonly kind: 'reads'; readonly plans: readonly TablePlan[]; readonly bounds: ReadBounds }
    | { readonly kind: 'instances' }
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

/** A method of an object that a thread works for. */
export type ThreadMethod = (...args: readonly unknown[]) => unknown

export type ToThread =
  | { readonly kind: 'open'; readonly part: number; readonly opening: Opening }
  | { readonly kind: 'ask'; readonly calls: readonly Call[] }

export interface ThreadAnswer {
  readonly id: number
  readonly value?: unknown
  /** In place of a value. */
  readonly failure?: PlainFailure
}

/** A row of a list: what JsonRow is made of. */
export type PlainRow = readonly [string, string, string, string, readonly boolean[]]

export interface PlainFailure {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  /** Their own members, e.g. the field that is taken and the engine's error code. */
  readonly members: Readonly<Record<string, unknown>>
  readonly cause?: PlainFailure
}

export function plainFailure(error: unknown): PlainFailure {
  if (!(error instanceof Error)) return plainFailure(new Error(String(error)))
  const { name, message, stack, cause } = error
  const members = Object.entries(error).filter(
    ([, value]) => value === null || !/object|function|symbol/.test(typeof value),
  )
  return {
    name,
    message,
    stack,
    members: Object.fromEntries(members),
    ...(cause !== undefined && { cause: plainFailure(cause) }),
  }
}

/** The error again: of its class if it is one of the contract. */
export function failureAgain({ name, message, stack, members, cause }: PlainFailure): Error {
  const error = new Error(message, cause && { cause: failureAgain(cause) })
  const kind = kindNamed(name)
  if (kind) Object.setPrototypeOf(error, kind.prototype)
  return Object.assign(error, { name, stack, ...members })
}
