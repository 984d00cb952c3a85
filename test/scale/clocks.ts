/** The clocks of instances, as their decision records show them. */
import type { Evidence } from './checker.ts'

/** By instance, the seconds by which its clock is ahead of the clients' (the median of its records of writes). */
export function clocksOf({
  operations,
  records,
}: Pick<Evidence, 'operations' | 'records'>): ReadonlyMap<string, number> {
  const sent = new Map(operations.map(({ title, instance, sentAt }) => [`${title} ${instance}`, sentAt]))
  const ahead = records.flatMap(({ time, instance = '', facts }) => {
    const sentAt = sent.get(`${facts?.proposed?.title} ${instance}`)
    if (sentAt === undefined) return []
    return [{ instance, seconds: (Date.parse(time) - performance.timeOrigin - sentAt) / 1000 }]
  })
  return new Map([...Map.groupBy(ahead, ({ instance }) => instance)].map(([name, all]) => [name, medianOf(all)]))
}

function medianOf(all: readonly { readonly seconds: number }[]): number {
  const sorted = all.map(({ seconds }) => seconds).toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
