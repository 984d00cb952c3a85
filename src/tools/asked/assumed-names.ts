/** Reads names that a command assumes to hold, joined with `+`: relations of an object, conditions of a request. */
import { didYouMean } from '../../base/did-you-mean.ts'
import { quote } from '../../present/quote.ts'
import { ToolError } from '../load-policy.ts'

/** For no name. */
export const NONE = 'none'

/** `office+fresh`, or `none`. Throws ToolError with the fault of a name that isn't declared. */
export function assumedNames(
  text: string,
  declared: readonly string[],
  faultOf: (unknown: string) => string,
): readonly string[] {
  const names = text === NONE && !declared.includes(NONE) ? [] : text.split('+').map((name) => name.trim())
  const unknown = names.find((name) => !declared.includes(name))
  if (unknown === undefined) return names
  if (unknown.startsWith('!') && declared.includes(unknown.slice(1)))
    throw new ToolError(`${quote(unknown)} is not assumed: name only what holds, or write ${NONE} if nothing does`)
  throw new ToolError(`${faultOf(unknown)}${didYouMean(unknown, declared)}`)
}

/** --with: exactly the named conditions of the request hold. Throws ToolError. */
export function assumedConditions(text: string, declared: readonly string[]): ReadonlyMap<string, boolean> {
  const known = [...declared, NONE].join(', ')
  const names = assumedNames(text, declared, (unknown) => {
    return `conditions.yaml declares no condition ${quote(unknown)}: --with takes ${known}, or names joined with +`
  })
  return new Map(declared.map((name) => [name, names.includes(name)]))
}
