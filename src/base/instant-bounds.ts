/** The bounds of a condition on times as texts, in the form in which engines keep instants (instant.ts). */

/** Both bounds are strict, and kept instants are whole milliseconds. */
export function instantBounds({ after, before }: { readonly after?: number; readonly before?: number }): {
  readonly after?: string
  readonly before?: string
} {
  return {
    ...(after !== undefined && { after: instantText(Math.floor(after)) }),
    ...(before !== undefined && { before: instantText(Math.ceil(before)) }),
  }
}

const FIRST_INSTANT = Date.parse('0000-01-01T00:00:00Z')
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z')

/** No stored instant lies on the first or the last day, so a bound beyond them means the same as one of them. */
function instantText(milliseconds: number): string {
  return new Date(Math.min(Math.max(milliseconds, FIRST_INSTANT), LAST_INSTANT)).toISOString()
}
