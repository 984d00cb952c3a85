/** Errors as plain data: a message between threads keeps neither their classes nor their own members. */
import { kindNamed } from '../../errors.ts'

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
