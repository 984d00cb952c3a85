/** Why another system didn't take something, in words. */
import { systemReason } from '../../base/files/system-reason.ts'

interface RemoteError {
  /** The system's name of the error, or the status of an answer. */
  readonly code?: string | number
  readonly name?: string
  readonly message?: string
  readonly errors?: readonly unknown[]
  readonly cause?: unknown
}

/** In characters. */
const LONGEST = 200

/** The system's words, the status of an answer, or what a library says; never what the other system wrote. */
export function remoteReason(error: unknown): string {
  const { code, name, message = '', errors, cause } = (error ?? {}) as RemoteError
  if (name === 'TimeoutError' || (cause as RemoteError | undefined)?.name === 'TimeoutError') return 'no answer in time'
  if (typeof code === 'number') return `it answers ${code}`
  const said = String(message).slice(0, LONGEST)
  if (code !== undefined) return systemReason(code) === code ? said || code : systemReason(code)
  return errors?.[0] === undefined ? said || 'it does not answer' : remoteReason(errors[0])
}
