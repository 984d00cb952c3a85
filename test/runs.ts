/**
 * How much a test does: `npm run test:soak` sets SOAK, and does all of it; `npm test` does a small part, which can fail
 * for the same fault. test/tiers.ts finds the files that ask here, so that soak runs them too.
 */

export function soak<T>(large: T, small: T): T {
  return process.env.SOAK === undefined ? small : large
}

/** How many inputs a random test draws. Each run draws others (test/seed.ts). */
export function runs(inSoak: number, small: number = Math.ceil(inSoak / 10)): number {
  return soak(inSoak, small)
}
