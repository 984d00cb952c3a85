/** Where requests go: a server, callers with tokens, and a way to put objects there. */
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import type { Representation } from '../../../resources/resource.ts'
import type { Expectation, KnownColumn } from '../read/expectation.ts'
import type { HttpAnswer, HttpRequest } from './http.ts'

export interface LentTarget {
  readonly target: TestTarget
  release(): Promise<void>
}

/** The targets of a whole run. */
export interface TargetPool {
  /** The deployment's address; undefined for this process. */
  readonly url: string | undefined
  /** How many cells are tried at once, unless an option says otherwise. */
  readonly parallel: number
  /** The target that most cells share. */
  readonly target: TestTarget
  /** The shared target, or one for this cell alone, on which the cell's conditions hold. Throws CannotSetUp. */
  lend(expectation: Expectation): Promise<LentTarget>
  /** A target for this cell alone: no other cell puts objects into it. Absent where no such target can be made. */
  lendEmpty?(expectation: Expectation): Promise<LentTarget>
  /** Removes what the run made. Returns a sentence for each thing that it could not remove. */
  close(): Promise<readonly string[]>
}

/** How a caller signed in. */
export type TestSignIn = Pick<ConditionFacts, 'credential' | 'authTime' | 'acr'>

export interface TestCaller {
  readonly id: string
  readonly token: string
  /** Whether the caller was made for this cell, and therefore owns no other object. */
  readonly fresh: boolean
}

/** An object to put there; a deployment may give it another id. */
export interface NewObject {
  readonly resource: string
  readonly object: Representation
}

export interface HeardEvent {
  readonly kind: string
  readonly data: Representation
}

export interface FollowedEvents {
  /** The next event; undefined when the time is over, or the stream has ended. */
  next(): Promise<HeardEvent | undefined>
  end(): void
}

export interface TestTarget {
  /** Without a slash at the end. */
  readonly url: string
  /** The time on its clock, in milliseconds since the epoch. */
  now(): number
  /** Ids of other users, who own the objects that aren't the caller's; at least one. */
  strangers(caller: TestCaller | undefined): readonly string[]
  /** A caller of this column; a new one if the target can make one. Throws CannotSetUp. */
  caller(column: KnownColumn): Promise<TestCaller>
  /**
   * A caller of this column and an object with the caller's id; `make` returns the object for an id. `made`: the object
   * was made for the cell, so the cell may change it. Throws CannotSetUp.
   */
  callerWithRecord(
    column: KnownColumn,
    resource: string,
    make: (id: string) => Representation,
  ): Promise<{ readonly caller: TestCaller; readonly object: Representation; readonly made: boolean }>
  /**
   * Returns the object as the target stores it, with its id. Some targets must create it as `owner`. Throws
   * CannotSetUp.
   */
  put(wanted: NewObject, owner: string | undefined): Promise<Representation>
  /** Changes the object to `after`, by the path of `put`. Throws CannotSetUp. */
  change(object: NewObject, after: Representation): Promise<void>
  /** Deletes the object, by the path of `put`. Throws CannotSetUp. */
  remove(object: NewObject): Promise<void>
  /** Follows a stream of events. Throws NoAnswer, and CannotSetUp if the answer isn't a stream. */
  follow(request: HttpRequest): Promise<FollowedEvents>
  /** Sends the request. Doesn't retry after an answer with the status `wanted`. Throws NoAnswer. */
  ask(request: HttpRequest, wanted?: number): Promise<HttpAnswer>
  /** Remembers what a request of the run created, for the clean-up. */
  note(resource: string, answer: HttpAnswer, token: string | undefined): Promise<void>
}

/** The target can't give a cell what it needs. The message is one sentence. */
export class CannotSetUp extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CannotSetUp'
  }
}

/** The error itself, if the target can't give what a cell needs; throws any other error. */
export function orCannotSetUp(error: unknown): CannotSetUp {
  if (error instanceof CannotSetUp) return error
  throw error
}

/** Another object has the value of a unique field. */
export class ValueTaken extends CannotSetUp {
  constructor(message: string) {
    super(message)
    this.name = 'ValueTaken'
  }
}
