/**
 * A filter's SQL as a part of a query, for query builders with a tagged template `sql`: Kysely has one, and others. It
 * needs no package of its own.
 */

/** As POST /access/v1/filter gives it. */
export interface FilterSql {
  readonly text: string
  readonly parameters: readonly (string | number | boolean)[]
}

type Tag<Fragment> = (strings: TemplateStringsArray, ...values: unknown[]) => Fragment

/** The values stay parameters: `where(fragment(sql<boolean>, filter.sql))`. */
export function fragment<Fragment>(sql: Tag<Fragment>, { text, parameters }: FilterSql): Fragment {
  const placeholders = [...text.matchAll(PLACEHOLDER)]
  const numbers = placeholders.map(([, number], i) => (number === undefined ? i : Number(number)))
  // The server may count from another number than 1, and names each value at least once.
  const first = Math.min(...numbers)
  const values = numbers.map((number) => parameters[number - first])
  if (values.includes(undefined)) throw new TypeError('the filter has fewer values than placeholders')
  const strings = text.split(PLACEHOLDERS)
  return sql(Object.assign(strings, { raw: strings }), ...values)
}

/** The text has no literal and no name with one of these signs. */
const PLACEHOLDER = /\$(\d+)|\?/g
const PLACEHOLDERS = /\$\d+|\?/
