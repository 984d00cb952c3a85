/** What the processes of one server tell each other: types only. */

export type ToPrimary =
  | { readonly kind: 'listening'; readonly url: string; readonly revision: string }
  /** Lines for the decision log; answered by `appended`. */
  | { readonly kind: 'append'; readonly id: number; readonly lines: string }
  /** A write has committed with its record. */
  | { readonly kind: 'committed' }

export type FromPrimary = {
  readonly kind: 'appended'
  readonly id: number
  /** Why the lines can't be written. */
  readonly error?: string
}
