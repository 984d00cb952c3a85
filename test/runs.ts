/**
 * How much a test does: `npm test` does a small part, which can fail for the same fault. `npm run test:soak` sets SOAK,
 * and does more, or what `npm test` left out. test/tiers.ts finds the files that ask here, so that soak runs them too.
 */

import fc from 'fast-check'

export function soak<T>(large: T, small: T): T {
  return process.env.SOAK === undefined ? small : large
}

/** SOAK_TIMES multiplies the counts of random tests in soak, for a run that may take a night. */
const TIMES = Number(process.env.SOAK_TIMES ?? 1)
const FULL_TIMES = 4

/** A count of soak, for `soak(times(10), 3)`. */
export function times(count: number): number {
  return Math.ceil(count * TIMES)
}

export const SEED = Number(process.env.CI_SEED ?? Date.now())

/**
 * The number of the first kill, from which the moment of each kill follows: other moments are tried at each commit, as
 * random inputs are (test/seed.ts). A multiple of four, because some tests do something else each second or fourth time.
 */
export const FIRST_KILL = 4 * (SEED % 1000)

/**
 * For what is slow: every second one, third one and so on. Each commit takes the turn of others; SOAK_TIMES=4 all of
 * up to four.
 */
export function inTurn<T>(all: readonly T[], every: number, seed: number = SEED): readonly T[] {
  const apart = Math.max(1, Math.ceil(every / TIMES))
  return all.filter((_, i) => (i + seed) % apart === 0)
}

/** All in soak, else this many of them in a row, from one that the seed names: for what is found by a long search. */
export function fewOf<T>(all: readonly T[], count: number, seed: number): readonly T[] {
  const from = seed % Math.max(1, all.length)
  return soak(all, [...all.slice(from), ...all.slice(0, from)].slice(0, count))
}

/** In soak every second of them, and other ones at each commit; else every fifth one. `nth` lists begin at others. */
export function shareOf<T>(all: readonly T[], nth: number): readonly T[] {
  return inTurn(all, soak(2, 5), nth + soak(SEED, 0))
}

/**
 * How many inputs a random test draws: all with SOAK_TIMES=4, a quarter in soak, `small` in `npm test`. Each commit
 * draws others (test/seed.ts), so that what a quarter misses is found by one of the next.
 */
export function runs(full: number, small: number = Math.ceil(full / 10)): number {
  return soak(Math.max(small, Math.ceil((full * TIMES) / FULL_TIMES)), small)
}

/** The rounds of `npm test`, or of soak, draw as many inputs at most as one with SOAK_TIMES=4. */
const ROUNDS = soak(4, 10)

/**
 * Draws, and counts what was met. A few inputs may lack some kind; then it draws others, and fails where several rounds
 * lack it. With CI_SEED each round has a seed of its own.
 */
export async function drawing(draw: () => unknown, counted: () => unknown): Promise<void> {
  const before = fc.readConfigureGlobal()
  try {
    for (let left = ROUNDS; left > 0; left -= 1) {
      await draw()
      const missing = await fault(counted)
      if (missing === undefined) return
      if (left === 1) throw missing
      if (before?.seed !== undefined) fc.configureGlobal({ ...before, seed: before.seed + left })
    }
  } finally {
    fc.configureGlobal(before ?? {})
  }
}

async function fault(counted: () => unknown): Promise<unknown> {
  try {
    await counted()
    return undefined
  } catch (error) {
    return error
  }
}
