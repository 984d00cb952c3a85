/** How rules are called, as in decision records. */
import type { RulePlace } from './explanation.ts'

export function placeOf({ line }: { readonly line: number }): RulePlace {
  return `policy.csv:${line}`
}
