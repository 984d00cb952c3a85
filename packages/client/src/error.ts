/** The one error of this package: there is no decision. A denial isn't an error. */

export type ErrorCode =
  /** No answer in time. */
  | 'timeout'
  /** No connection, or it broke. */
  | 'unreachable'
  /** The caller's own signal. */
  | 'aborted'
  /** 4xx: the server refuses this call itself, which says nothing about the decision. */
  | 'refused'
  /** 5xx. */
  | 'failed'
  /** A batch was answered, but this question of it has an error. */
  | 'item-failed'
  /** The answer isn't what the standard says, or is too large. */
  | 'invalid-answer'
  /** The server has no such endpoint. */
  | 'not-offered'
  /** Too many questions wait for an answer. */
  | 'overloaded'
  /** The question can't be sent: it is no JSON, or the program's own function for the token or the id fails. */
  | 'not-asked'

export interface ErrorDetails {
  /** Of the HTTP answer, or of the item of a batch. */
  readonly status?: number | undefined
  /** The first 2,000 characters that the server answered. */
  readonly answered?: string | undefined
  /** Sent as `X-Request-ID`. */
  readonly requestId?: string | undefined
  readonly cause?: unknown
}

export class AuthzenError extends Error {
  override readonly name = 'AuthzenError'
  readonly code: ErrorCode
  readonly status: number | undefined
  readonly answered: string | undefined
  readonly requestId: string | undefined

  constructor(code: ErrorCode, message: string, { status, answered, requestId, cause }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status
    this.answered = answered
    this.requestId = requestId
  }
}
