/** The messages between the processes of one server. */
import type { Check } from '../routes/handler.ts'

/** The variable that tells a starting worker that policy.csv was read with its last line. */
export const POLICY_END = 'SALLYPORT_POLICY_END'

export type ToPrimary =
  | { readonly kind: 'listening'; readonly url: string; readonly revision: string }
  /** Lines for the decision log; answered by `appended`. */
  | { readonly kind: 'append'; readonly id: number; readonly lines: string }
  /** policy.csv has its last line: a worker that starts later must not take a file without it. */
  | { readonly kind: 'policy-end' }
  /** The state of the worker's parts; the answer to `check`. */
  | { readonly kind: 'checked'; readonly id: number; readonly checks: Readonly<Record<string, Check>> }
  /** A write has committed with its record. */
  | { readonly kind: 'committed' }

export type FromPrimary =
  | {
      readonly kind: 'appended'
      readonly id: number
      /** Why the lines can't be written. */
      readonly error?: string
    }
  | { readonly kind: 'check'; readonly id: number }
