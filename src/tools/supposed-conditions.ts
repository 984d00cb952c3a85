/** Reads --with: the conditions of the request that a command supposes to hold. */
import { didYouMean } from '../base/did-you-mean.ts'
import { quote } from '../present/quote.ts'
import { ReviewError } from './load-policy.ts'

const NONE = 'none'

/** Exactly the named conditions hold: `office+fresh`, or `none`. Throws ReviewError. */
export function supposedConditions(text: string, declared: readonly string[]): ReadonlyMap<string, boolean> {
  const names = text === NONE && !declared.includes(NONE) ? [] : text.split('+').map((name) => name.trim())
  const unknown = names.find((name) => !declared.includes(name))
  if (unknown === undefined) return new Map(declared.map((name) => [name, names.includes(name)]))
  const fault = `conditions.yaml declares no condition ${quote(unknown)}`
  const known = [...declared, NONE].join(', ')
  throw new ReviewError(`${fault}: --with takes ${known}, or names joined with +${didYouMean(unknown, declared)}`)
}
