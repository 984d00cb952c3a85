/** Parts of statements that answer many look-ups at once (connections/gathered.ts). */

/**
 * What is asked for: a row for each look-up, with its place from 1 as `nth`. It is bound as one JSON list with a list of
 * texts for each look-up. PostgreSQL guesses the length of an `unnest`ed array, and would plan each statement again.
 */
export const ASKED_FOR = 'jsonb_array_elements($1::jsonb) with ordinality as asked(texts, nth)'

/** The nth text of a look-up, from 0. */
export function askedText(nth: number): string {
  return `(asked.texts ->> ${nth})`
}

/**
 * The row that a look-up by a key selects. With its limit, PostgreSQL plans each look-up by itself, by the index; without
 * it, it may read the whole table, as it does for many look-ups in a table that was small when it planned.
 */
export function oneRow(select: string): string {
  return `lateral (${select} limit 1)`
}
