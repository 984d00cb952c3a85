/** What the gate grants of one stored object: for tests of what services tell. */
import { decide, type Question } from '../../src/decide/decide.ts'
import { type FactSource, type FactsAtHand, withFacts } from '../../src/decide/facts.ts'
import type { DirectPolicy } from '../../src/decide/grants/direct.ts'
import { isRefusal } from '../../src/decide/refusal.ts'

export type Fields = ReadonlySet<string>

export const NO_FIELDS: Fields = new Set()

/** The actions that are about one object. */
export const ON_OBJECTS = ['read', 'update', 'delete']

export async function grantedByGate(policy: DirectPolicy, question: Question, facts: FactsAtHand): Promise<Fields> {
  const found = await withFacts(decide(question, policy), facts as FactSource)
  if (isRefusal(found)) return NO_FIELDS
  switch (found.kind) {
    case 'read':
      return found.shown
    case 'update':
      return found.writable.intersection(await withFacts(found.writableAsIs(), facts as FactSource))
    case 'delete':
      return new Set(['*'])
    default:
      throw new Error(`${found.kind} is not about one object`)
  }
}
