/** The refusal of policies whose rules distinguish more than a diff can compare. */
import type { Policy, Rule } from '../../../decide/policy.ts'
import { namesIn } from '../../../decide/rules/terms.ts'
import type { Sides } from '../change.ts'

/** Names the line with the most names, of the new policy if it is there. `isMeant`: the rules that are too many. */
export function incomparable(
  policies: Sides<Pick<Policy, 'rules'>>,
  isMeant: (rule: Rule) => boolean,
  fault: { readonly wrong: string; readonly mend: string },
): Incomparable {
  const longest = (['after', 'before'] as const).flatMap((side) => {
    const meant = policies[side].rules.filter(isMeant).map((rule) => ({ side, line: rule.line, names: namesIn(rule) }))
    return meant.toSorted((a, b) => b.names.length - a.names.length).slice(0, 1)
  })
  const [first] = longest.toSorted((a, b) => b.names.length - a.names.length)
  const which = first?.side === 'before' ? 'the old policy' : 'the new policy'
  const place = first ? ` (such as line ${first.line} of policy.csv in ${which})` : ''
  return new Incomparable(`${fault.wrong}${place}: ${fault.mend}`)
}

/** The message is one sentence for whoever compares the policies. */
export class Incomparable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Incomparable'
  }
}
