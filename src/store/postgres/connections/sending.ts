/**
 * What a transaction of waiting writes sends: a statement for each write, or one for many writes of one kind. A write
 * that such a statement hasn't done is sent again by a statement of its own, which tells why.
 */
import type { Row, Statement } from '../../sql/statement.ts'

/** It changes everything or nothing. */
export interface StoreWrite {
  /** The statement that does this write alone. Doesn't throw. */
  readonly alone: () => Statement
  readonly shared?: Shared | undefined
}

/** A write that no other one joins. */
export function single(statement: Statement): StoreWrite {
  return { alone: () => statement }
}

/** How one statement does a write together with others. */
export interface Shared {
  /** Binds a JSON list of the writes. Its rows have the places, from 1, of the writes that it hasn't done. */
  readonly text: string
  /** JSON: what the statement needs of this write. */
  readonly json: string
  /** No two writes of a statement may have the same. */
  readonly id: string
  /** What the write's own statement would return if it did the write. */
  readonly done: readonly Row[]
}

export interface WaitingWrite extends StoreWrite {
  readonly resolve: (rows: readonly Row[]) => void
  readonly reject: (error: unknown) => void
}

type SharedWrite = WaitingWrite & { readonly shared: Shared }

export interface Sending {
  readonly statement: Statement
  /** What it does: one write, or several that share it. */
  readonly does: WaitingWrite | readonly SharedWrite[]
}

/** In the order of the writes: each may rest on those before it. So one statement does only writes that follow each other. */
export function sendingsOf(waiting: readonly WaitingWrite[]): Sending[] {
  const sendings: Sending[] = []
  for (let at = 0; at < waiting.length; ) {
    const first = waiting[at] as WaitingWrite
    const alike = isShared(first) ? alikeFrom(waiting, at, first.shared.text) : []
    sendings.push(isShared(first) ? sharedBy(first.shared.text, alike) : alone(first))
    at += Math.max(1, alike.length)
  }
  return sendings
}

/** The writes from there on that one statement can do. */
function alikeFrom(waiting: readonly WaitingWrite[], from: number, text: string): readonly SharedWrite[] {
  const ids = new Set<string>()
  const alike: SharedWrite[] = []
  for (let at = from; at < waiting.length; at += 1) {
    const write = waiting[at] as WaitingWrite
    if (!isShared(write) || write.shared.text !== text || ids.has(write.shared.id)) break
    ids.add(write.shared.id)
    alike.push(write)
  }
  return alike
}

/** Resolves what the statement has done; returns what is to be sent for the rest. */
export function settle({ does }: Sending, rows: readonly Row[]): readonly Sending[] {
  if ('alone' in does) {
    does.resolve(rows)
    return []
  }
  const undone = new Set(rows.map(([place]) => Number(place) - 1))
  for (const [at, { resolve, shared }] of does.entries()) if (!undone.has(at)) resolve(shared.done)
  return does.filter((_, at) => undone.has(at)).map(alone)
}

/** A statement whose data are at fault: rejects its only write, or returns what is to be sent in its place. */
export function settleFault(sending: Sending, error: unknown): readonly Sending[] {
  if (!('alone' in sending.does)) return sending.does.map(alone)
  reject(sending, error)
  return []
}

export function reject({ does }: Sending, error: unknown): void {
  if ('alone' in does) does.reject(error)
  else for (const write of does) write.reject(error)
}

function isShared(write: WaitingWrite): write is SharedWrite {
  return write.shared !== undefined
}

function alone(write: WaitingWrite): Sending {
  return { statement: write.alone(), does: write }
}

function sharedBy(text: string, writes: readonly SharedWrite[]): Sending {
  return { statement: { text, values: [`[${writes.map(({ shared }) => shared.json).join()}]`] }, does: writes }
}
