/** A public error, thrown anywhere and rendered once, by the problem boundary. Private details go into `cause`. */
import { CATALOGUE, type ProblemCode } from './catalogue.ts'

/** One fault of one field. `pointer` is a JSON Pointer (RFC 6901) into the body, `code` a stable word. */
export interface FieldFault {
  readonly pointer: string
  readonly detail: string
  readonly code: string
}

interface ProblemOptions {
  readonly errors?: readonly FieldFault[]
  readonly headers?: Readonly<Record<string, string>>
  readonly members?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** An error that is an answer. Nobody reads its trace, which would take as long to make as a decision. */
export class Untraced extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = stackTraceLimit
  }
}

export class Problem extends Untraced {
  readonly code: ProblemCode
  readonly status: number
  readonly detail: string
  readonly errors: readonly FieldFault[]
  readonly headers: Readonly<Record<string, string>>
  /** Extension members of the problem document (RFC 9457 section 3.2). */
  readonly members: Readonly<Record<string, unknown>>

  /**
   * `detail` is one sentence for the client: what is wrong and what to do. It never contains the internal text of a
   * fault.
   */
  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'Problem'
    this.code = code
    this.status = CATALOGUE[code].status
    this.detail = detail
    this.errors = options.errors ?? []
    this.headers = options.headers ?? {}
    this.members = options.members ?? {}
  }
}
