/** Reads names that a command assumes to hold, joined with `+`: relations of an object, conditions of a request. */
import { didYouMean } from '../../base/did-you-mean.ts'
import { quote } from '../../present/quote.ts'
import { ToolError } from '../load-policy.ts'

/** For no name. */
export const NONE = 'none'

/** `flag` has the names, and `faultOf` says what is wrong with a name that isn't declared. */
interface DeclaredNames {
  readonly flag: string
  readonly declared: readonly string[]
  readonly faultOf: (unknown: string) => string
}

/** `office+fresh`, or `none`. Throws ToolError. */
export function assumedNames(text: string, { flag, declared, faultOf }: DeclaredNames): readonly string[] {
  const names = text === NONE && !declared.includes(NONE) ? [] : text.split('+').map((name) => name.trim())
  const unknown = names.find((name) => !declared.includes(name))
  if (unknown === undefined) return names
  if (unknown === '') throw new ToolError(`${flag} lacks a name: write ${NONE} if nothing holds`)
  if (unknown.startsWith('!') && declared.includes(unknown.slice(1).trim())) {
    throw new ToolError(`${flag} takes only names of what holds, not ${quote(unknown)}: write ${NONE} if nothing holds`)
  }
  const apart = unknown.split(/[\s,;|&]+/).filter((name) => name !== '')
  if (apart.length > 1 && apart.every((name) => declared.includes(name))) {
    throw new ToolError(`${flag} names several at once: write them as ${quote(apart.join('+'))}`)
  }
  throw new ToolError(`${faultOf(unknown)}${didYouMean(unknown, declared)}`)
}

/** --with: exactly the named conditions of the request hold. Throws ToolError. */
export function assumedConditions(text: string, declared: readonly string[]): ReadonlyMap<string, boolean> {
  const known = [...declared, NONE].join(', ')
  const faultOf = (unknown: string) =>
    `conditions.yaml declares no condition ${quote(unknown)}: --with takes ${known}, or names joined with +`
  const names = assumedNames(text, { flag: '--with', declared, faultOf })
  return new Map(declared.map((name) => [name, names.includes(name)]))
}
