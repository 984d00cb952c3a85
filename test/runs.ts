/**
 * How much a test does: `npm run test:soak` sets SOAK, and does all of it; `npm test` does a small part, which can fail
 * for the same fault. test/tiers.ts finds the files that ask here, so that soak runs them too.
 */

import fc from 'fast-check'

export function soak<T>(large: T, small: T): T {
  return process.env.SOAK === undefined ? small : large
}

/** All of them in soak, else every third one, from another one for each `nth` list. */
export function shareOf<T>(all: readonly T[], nth: number): readonly T[] {
  return all.filter((_, i) => (i + nth) % soak(1, 3) === 0)
}

/** How many inputs a random test draws. Each run draws others (test/seed.ts). */
export function runs(inSoak: number, small: number = Math.ceil(inSoak / 10)): number {
  return soak(inSoak, small)
}

/** Ten rounds of `npm test` draw as many inputs as one of soak. */
const ROUNDS = soak(3, 10)

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
