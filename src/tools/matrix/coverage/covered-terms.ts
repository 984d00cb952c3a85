/**
 * The terms and right sides of rules that the matrices show both ways. An expectation that needs the rule sees its terms
 * hold; an expectation that fails without a term sees this term alone not hold.
 */
import type { Policy, Rule, Term } from '../../../decide/policy.ts'
import { termText } from '../../../decide/rules/terms.ts'

/** A rule, relation or view, and whether some expectation depends on it. */
export interface CoveredPart {
  /** `policy.csv:14`, or the name in its file. */
  readonly place: string
  readonly text: string
  readonly covered: boolean
}

/** Whether an expectation fails under the changed policy. */
export type Depends = (change: (policy: Policy) => Policy) => boolean

interface AskedRule {
  readonly rule: Rule
  /** The place and the text of the rule, and whether an expectation depends on it. */
  readonly part: CoveredPart
}

export function coverTerms(asked: readonly AskedRule[], depends: Depends): readonly CoveredPart[] {
  return asked.flatMap((one) => {
    const { before, after = [] } = one.rule
    const left = before.map((term, i) => ({ term, less: { ...one.rule, before: before.toSpliced(i, 1) } }))
    // A right side of one term is shown as a whole.
    const right = after.length < 2 ? [] : after
    const others = right.map((term, i) => ({ term, less: { ...one.rule, after: after.toSpliced(i, 1) } }))
    return [...left, ...others].map(({ term, less }) =>
      shownBothWays(one, less, depends, {
        never: `\`${termText(term)}\` is never seen to hold`,
        always: `\`${termText(term)}\` is never seen not to hold`,
      }),
    )
  })
}

export function coverRightSides(asked: readonly AskedRule[], depends: Depends): readonly CoveredPart[] {
  return asked.flatMap((one) => {
    const { after, ...less } = one.rule
    if (!after) return []
    const text = sideText(after)
    return [
      shownBothWays(one, less, depends, {
        never: `no result that fits \`${text}\` is seen`,
        always: `no result that doesn't fit \`${text}\` is seen`,
      }),
    ]
  })
}

function sideText(terms: readonly Term[]): string {
  return terms.map(termText).join('+') || 'any'
}

function shownBothWays(
  { rule, part }: AskedRule,
  less: Rule,
  depends: Depends,
  { never, always }: { readonly never: string; readonly always: string },
): CoveredPart {
  const isSeenMissing = () =>
    depends((policy) => ({ ...policy, rules: policy.rules.map((one) => (one.line === rule.line ? less : one)) }))
  const lack = part.covered ? (isSeenMissing() ? undefined : always) : never
  return { ...part, text: lack === undefined ? part.text : `${part.text}: ${lack}`, covered: lack === undefined }
}
