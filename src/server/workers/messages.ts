/** What the processes of one server tell each other. */
import type { Check } from '../routes/handler.ts'

/** The variable that says to a starting worker that policy.csv has its last line. */
export const POLICY_END = 'SALLYPORT_POLICY_END'

export type ToPrimary =
  | { readonly kind: 'listening'; readonly url: string; readonly revision: string }
  /** Lines for the decision log; answered by `appended`. */
  | { readonly kind: 'append'; readonly id: number; readonly lines: string }
  /** policy.csv has its last line: a worker that starts later must not take a file without it. */
  | { readonly kind: 'policy-end' }
  /** What the worker's parts can do; answers `check`. */
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
