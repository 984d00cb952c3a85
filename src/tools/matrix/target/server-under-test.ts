/** Where cells are tried: a server, callers with tokens, and a way to put objects there. Types and the one error. */
import type { Representation } from '../../../resources/resource.ts'
import type { Column } from '../read/expectation.ts'
import type { HttpAnswer, HttpRequest } from './http.ts'

export interface Caller {
  readonly id: string
  readonly token: string
  /** Made for the cell, so that nothing else in the store is theirs. */
  readonly fresh: boolean
}

/** An object to be put there; its id is a wish that a deployment needn't fulfil. */
export interface Wish {
  readonly resource: string
  readonly object: Representation
}

export interface Stage {
  /** Without a slash at its end. */
  readonly url: string
  /** Owners of objects that are nobody's in the cell; at least one. */
  strangers(caller: Caller | undefined): readonly string[]
  /** A caller of this column; one that nobody else is, where the stage can make one. Throws CannotSetUp. */
  caller(column: Exclude<Column, { kind: 'anonymous' }>): Promise<Caller>
  /**
   * A caller of this column and an object with the caller's id: `make` tells the object for an id. `made`: the object was
   * made for the cell, so that whatever becomes of it is no loss. Throws CannotSetUp.
   */
  callerWithRecord(
    column: Exclude<Column, { kind: 'anonymous' }>,
    resource: string,
    make: (id: string) => Representation,
  ): Promise<{ readonly caller: Caller; readonly object: Representation; readonly made: boolean }>
  /** The object as it is there, with its id. `owner` may have to put it there. Throws CannotSetUp. */
  put(wish: Wish, owner: string | undefined): Promise<Representation>
  /** Sends the request. `wanted` is a status that isn't asked again. Throws NoAnswer. */
  ask(request: HttpRequest, wanted?: number): Promise<HttpAnswer>
  /** What the cell's own request left behind, for the clean-up. */
  note(resource: string, answer: HttpAnswer, token: string | undefined): Promise<void>
}

/** What a cell needs and can't have here. Its message is one sentence. */
export class CannotSetUp extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CannotSetUp'
  }
}
