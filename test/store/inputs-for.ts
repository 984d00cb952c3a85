/** The part of the contract's random inputs for an engine. Who imports this runs in soak too (test/tiers.ts). */
import { soak } from '../runs.ts'
import type { TestEngine } from './engine.ts'

/** How many of the random inputs the engine is given. */
export function inputsFor({ share = 1 }: TestEngine, all: number, least = LEAST_INPUTS): number {
  return Math.max(Math.min(all, least), Math.ceil(all * share))
}

/** Fewer would miss what most tests look for. */
const LEAST_INPUTS = soak(10, 5)
