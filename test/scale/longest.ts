/** How long refusals lasted, and how far instances lagged behind the published policy. Times are milliseconds. */
import type { Operation } from './ask.ts'
import type { Evidence } from './checker.ts'

/** The longest time in which a client was only refused; waiting for a policy version doesn't count. */
export function longestRefusal(operations: readonly Operation[]): number {
  const byClient = Map.groupBy(
    operations.filter(({ kind }) => kind !== 'flood'),
    ({ client }) => client,
  )
  return Math.max(0, ...[...byClient.values()].map(longestOfOne))
}

function longestOfOne(operations: readonly Operation[]): number {
  let longest = 0
  let since: number | undefined
  for (const { status, code, sentAt, endedAt } of operations) {
    const refused = status === 0 || status === 409 || (status >= 500 && code !== 'policy-behind')
    if (refused) since ??= sentAt
    if (since !== undefined) longest = Math.max(longest, endedAt - since)
    if (!refused) since = undefined
  }
  return longest
}

/**
 * The longest time from the acknowledgement of a version until the last request that an instance, which then was behind,
 * was sent: so long that instance certainly lagged.
 */
export function longestLag({
  operations,
  published,
  versions,
}: Pick<Evidence, 'operations' | 'published' | 'versions'>) {
  const acknowledged = published.map(({ revision, acknowledgedAt }) => ({
    number: versions.get(revision) ?? 0,
    acknowledgedAt,
  }))
  const lags = operations.flatMap(({ sequence, sentAt }) => {
    const missed = acknowledged.filter(({ number }) => sequence > 0 && number > sequence)
    return missed.map(({ acknowledgedAt }) => sentAt - acknowledgedAt)
  })
  // A long run has more of them than a call takes arguments.
  return lags.reduce((most, lag) => Math.max(most, lag), 0)
}

/** The slowest answer, for a bound that a busy machine doesn't break. */
export function slowestAnswer(operations: readonly Operation[]): number {
  return Math.max(0, ...operations.filter(({ status }) => status > 0).map(({ sentAt, endedAt }) => endedAt - sentAt))
}
