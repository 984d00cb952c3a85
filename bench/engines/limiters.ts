/** The limiters that are measured, by name. */
import { loadFlexible } from './flexible-limiter.ts'
import type { CreateLimiter } from './limiter-engine.ts'
import { create } from './sallyport-limiter.ts'

export async function limiters(peers: boolean): Promise<ReadonlyMap<string, CreateLimiter>> {
  const found = new Map<string, CreateLimiter>([['ours', create]])
  if (peers) found.set('rate-limiter-flexible', await loadFlexible())
  return found
}
