/** The result of reading a word of a matrix. */

/** A value, or the fault of the word and what to write instead. */
export type Parsed<T> =
  | { readonly kind: 'parsed'; readonly value: T }
  | { readonly kind: 'wrong'; readonly message: string; readonly hint: string }

export function parsed<T>(value: T): Parsed<T> {
  return { kind: 'parsed', value }
}

export function failed(message: string, hint: string): Parsed<never> {
  return { kind: 'wrong', message, hint }
}
