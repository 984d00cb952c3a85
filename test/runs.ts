/** How many inputs a random test draws. */

/** All of them in CI, which sets CI_SEED; elsewhere a third, because each run draws others (test/seed.ts). */
export function runs(inCi: number): number {
  return process.env.CI_SEED === undefined ? Math.ceil(inCi / 3) : inCi
}
