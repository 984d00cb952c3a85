/** Which share of a time the records of decision logs cover, and what isn't among them. */
import { basename, dirname, join, resolve } from 'node:path'
import { timeText } from '../../base/time.ts'
import { filesOfLog } from '../../decision-log/log-files.ts'
import { count } from '../../present/text.ts'

/** Milliseconds since the epoch. */
export interface Window {
  readonly since: number
  readonly until: number
  /** Milliseconds without a record that count as quiet, and not as missing. */
  readonly maxSilence: number
}

export interface LogCoverage {
  /** From 0 to 1. */
  readonly share: number
  readonly gaps: readonly { readonly from: number; readonly to: number }[]
  /** Full files of the same logs that weren't named. */
  readonly notNamed: readonly string[]
  /** Decision records that can't be read. */
  readonly damaged: number
  /** Numbers of writes between the first and the last that no record has. PostgreSQL leaves some out. */
  readonly missingWrites: number
}

const HOUR_MS = 3_600_000

export class CoveredTime {
  readonly #window: Window
  readonly #hours = new Set<number>()
  #damaged = 0
  #writes = { least: Number.POSITIVE_INFINITY, most: 0, number: 0 }

  constructor(window: Window) {
    this.#window = window
  }

  add(time: number, write: number | undefined): void {
    this.#hours.add(Math.floor(time / HOUR_MS))
    if (write === undefined) return
    const { least, most, number } = this.#writes
    this.#writes = { least: Math.min(least, write), most: Math.max(most, write), number: number + 1 }
  }

  /** A line that is no record: what a record has left counts, be its beginning or its end cut off. */
  addOther(line: string): void {
    if (/^\{"(?:record":"decision"|damaged":)/.test(line) || (/[^\s{}]\}+$/.test(line) && !isJson(line)))
      this.#damaged += 1
  }

  result(notNamed: readonly string[]): LogCoverage {
    const { since, until, maxSilence } = this.#window
    // However short the time is, a log without any record of it shows nothing.
    const gaps: { from: number; to: number }[] = this.#hours.size === 0 ? [{ from: since, to: until }] : []
    let from = since
    for (const hour of [...this.#hours].sort((a, b) => a - b)) {
      if (hour * HOUR_MS - from >= maxSilence) gaps.push({ from, to: hour * HOUR_MS })
      from = (hour + 1) * HOUR_MS
    }
    if (gaps.at(-1)?.to !== until && until - from >= maxSilence) gaps.push({ from, to: until })
    const missing = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0)
    const { least, most, number } = this.#writes
    const missingWrites = number === 0 ? 0 : Math.max(0, most - least + 1 - number)
    return { share: Math.max(0, 1 - missing / (until - since)), gaps, notNamed, damaged: this.#damaged, missingWrites }
  }
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}

/** The files of the same logs that aren't among the named ones. */
export async function notNamedOf(files: readonly string[]): Promise<readonly string[]> {
  const named = new Set(files.map((file) => resolve(file)))
  const logs = new Set(files.map((file) => join(dirname(file), basename(file).replace(/\.[1-9]\d*$/, ''))))
  const all = await Promise.all([...logs].map(filesOfLog))
  return all.flat().filter((file) => !named.has(resolve(file)))
}

/** Why nothing may be called unused; empty if the logs cover the whole time. */
export function whyNotCovered({ gaps, notNamed, damaged }: LogCoverage): readonly string[] {
  return [
    ...gaps.map(({ from, to }) => `the logs have no record from ${timeText(from)} to ${timeText(to)}`),
    ...notNamed.map((file) => `\`${file}\` isn't among the named files`),
    ...(damaged === 0 ? [] : [`${count(damaged, 'record')} can't be read`]),
  ]
}
