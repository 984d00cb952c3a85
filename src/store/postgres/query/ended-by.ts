/**
 * When what has ended is deleted. An instance whose clock is ahead must not delete what others still need, so a time has
 * to be over by the clock of the database too. This clock is the same for a whole statement, so indexes can be used.
 */
const DATABASE_NOW = '(extract(epoch from statement_timestamp()) * 1000)::bigint'

/** The latest end that is over. `now`: the place of the instance's time among the values, like `$1`. */
export function endedBy(now: string): string {
  return `least(${now}::bigint, ${DATABASE_NOW})`
}
