/**
 * Finds rules without effect: without them every caller is granted the same, for every resource, action, set of
 * relations and field. All rules that are found can be deleted at once.
 *
 * granted = some allow and no deny. So for an allow it is enough to look at one caller: the caller with only the
 * allow's subject, when only the allow's relations hold. More subjects or relations only add rules that make the allow
 * needless. For a deny it is enough to look at the callers with two subjects, the deny's and an allow's, when only the
 * relations of both rules hold. test/review/check/without-effect.test.ts holds this to the oracle.
 */

import type { Rule } from '../../../decide/policy.ts'
import { type ActionRules, isWithin, type RuleMask } from '../../../decide/rules/action-rules.ts'
import { endsOf, lives } from '../../../decide/rules/rule-expiry.ts'
import { type ActionRulesIndex, canBeOneCaller } from '../../../decide/rules/rule-index.ts'

/**
 * Why a rule that can match has no effect. The rules `by` have an effect, or each is needless only beside the others.
 */
export type NeedlessRule =
  | { readonly kind: 'covered' | 'under-deny'; readonly rule: Rule; readonly by: readonly Rule[] }
  | { readonly kind: 'nothing-to-deny'; readonly rule: Rule }

/**
 * Ignores rules that can't match anywhere. The index is the same afterwards. If rules end: a rule that is found has no
 * effect at any time until its own end, and the rules `by` don't end before it.
 */
export function findWithoutEffect(index: ActionRulesIndex, rules: readonly Rule[]): readonly NeedlessRule[] {
  const needless = new Set(needlessUntilTheirEnd(index, rules))
  for (const rule of needless) index.remove(rule)
  const gone = new Set<Rule>()
  const found = [...Map.groupBy(needless, endOf)]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([end, some]) => {
      for (const rule of rules.filter((one) => !needless.has(one) && endOf(one) < end)) {
        index.remove(rule)
        gone.add(rule)
      }
      return some.map((rule) => (rule.effect === 'deny' ? whyDeny(index, rule) : whyAllow(index, rule)))
    })
  for (const rule of needless.union(gone)) index.restore(rule)
  return found
}

/**
 * Between two ends of rules nothing changes, so each such span is looked at on its own. A rule without effect in all of
 * its spans can be deleted: in each span, the deleted rules are only some of the rules that could be deleted there.
 */
function needlessUntilTheirEnd(index: ActionRulesIndex, rules: readonly Rule[]): readonly Rule[] {
  // Of rules that make each other needless the one with the latest end is kept: takeNeedless starts with the last.
  let candidates = rules.toSorted((a, b) => endOf(b) - endOf(a))
  for (const from of [Number.NEGATIVE_INFINITY, ...endsOf(rules)]) {
    for (const rule of rules) if (rule.until === from) index.remove(rule)
    const living = candidates.filter((rule) => lives(rule, from))
    // Denies come first, while every allow is in the index: a deny also has an effect on needless allows.
    const denies = takeNeedless(index, living, 'deny', denyHasEffect)
    const needless = new Set([...denies, ...takeNeedless(index, living, 'allow', allowHasEffect)])
    for (const rule of needless) index.restore(rule)
    candidates = candidates.filter((rule) => !lives(rule, from) || needless.has(rule))
  }
  for (const rule of rules) if (rule.until !== undefined) index.restore(rule)
  return candidates
}

/** Also finite for rules without an end, so that two ends can be subtracted. */
function endOf({ until = Number.MAX_VALUE }: Rule): number {
  return until
}

type HasEffect = (index: ActionRulesIndex, actionRules: ActionRules, mask: RuleMask) => boolean

/** Goes from the last rule to the first: of rules that make each other needless it keeps the earlier one. */
function takeNeedless(
  index: ActionRulesIndex,
  rules: readonly Rule[],
  effect: Rule['effect'],
  hasEffect: HasEffect,
): readonly Rule[] {
  const needless: Rule[] = []
  for (const rule of rules.toReversed()) {
    const places = index.placesOf(rule)
    if (rule.effect !== effect || places.length === 0) continue
    const hasEffectIn = (actionRules: ActionRules) => {
      const mask = actionRules.maskOf(rule)
      return mask !== undefined && hasEffect(index, actionRules, mask)
    }
    if (places.some(hasEffectIn)) continue
    index.remove(rule)
    needless.push(rule)
  }
  return needless
}

function allowHasEffect(
  index: ActionRulesIndex,
  actionRules: ActionRules,
  { rule, relations, fields }: RuleMask,
): boolean {
  const subjects = index.subjectsOf(rule.subject)
  const allowed = actionRules.namedWithout(rule, 'allow', subjects, relations)
  return (fields & ~allowed & ~actionRules.named('deny', subjects, relations)) !== 0n
}

function denyHasEffect(
  index: ActionRulesIndex,
  actionRules: ActionRules,
  { rule, relations, fields }: RuleMask,
): boolean {
  const subjects = index.subjectsOf(rule.subject)
  const left = fields & ~actionRules.namedWithout(rule, 'deny', subjects, relations)
  if (left === 0n) return false
  return actionRules.subjects('allow').some((other) => {
    if (!canBeOneCaller(rule.subject, other)) return false
    const together = subjects.union(index.subjectsOf(other))
    return actionRules.groups('allow', other).some((group) => {
      const both = left & group.fields
      return (
        both !== 0n && (both & ~actionRules.namedWithout(rule, 'deny', together, relations | group.relations)) !== 0n
      )
    })
  })
}

// ---- Why ------------------------------------------------------------------------------------------------------------

function whyDeny(index: ActionRulesIndex, rule: Rule): NeedlessRule {
  const by = covering(index, rule, ['deny'])
  return by ? { kind: 'covered', rule, by } : { kind: 'nothing-to-deny', rule }
}

function whyAllow(index: ActionRulesIndex, rule: Rule): NeedlessRule {
  const denies = covering(index, rule, ['deny'])
  if (denies) return { kind: 'under-deny', rule, by: denies }
  return {
    kind: 'covered',
    rule,
    by: covering(index, rule, ['allow']) ?? covering(index, rule, ['deny', 'allow']) ?? [],
  }
}

/** Rules that make the rule needless wherever it can match: a single one if possible; undefined if there are none. */
function covering(
  index: ActionRulesIndex,
  rule: Rule,
  effects: readonly Rule['effect'][],
): readonly Rule[] | undefined {
  const places = index.placesOf(rule)
  const [first] = places
  const candidates = first ? overlapping(index, first, rule, effects) : []
  const single = candidates.find((one) => places.every((actionRules) => uncovered(actionRules, rule, [one]) === 0n))
  if (single) return [single.rule]
  const found = places.map((actionRules) => {
    const some = fewest(actionRules, rule, overlapping(index, actionRules, rule, effects))
    return uncovered(actionRules, rule, some) === 0n ? some.map((one) => one.rule) : undefined
  })
  return found.every((some) => some !== undefined) ? [...new Set(found.flat())] : undefined
}

/** The rules that match its caller whenever this rule matches, and name some of its fields. */
function overlapping(
  index: ActionRulesIndex,
  actionRules: ActionRules,
  rule: Rule,
  effects: readonly Rule['effect'][],
): readonly RuleMask[] {
  const mine = actionRules.maskOf(rule)
  if (!mine) return []
  const groups = effects.flatMap((effect) =>
    [...index.subjectsOf(rule.subject)].flatMap((subject) => [...actionRules.groups(effect, subject)]),
  )
  return groups
    .filter(({ relations }) => isWithin(relations, mine.relations))
    .flatMap(({ masks }) => masks)
    .filter(({ fields }) => (fields & mine.fields) !== 0n)
}

function uncovered(actionRules: ActionRules, rule: Rule, by: readonly RuleMask[]): bigint {
  const mine = actionRules.maskOf(rule)
  if (!mine) return 0n
  return by.reduce((left, { rule: other }) => left & ~fieldsFor(actionRules, other, mine), mine.fields)
}

/** The fields that the other rule names whenever `mine` matches. */
function fieldsFor(actionRules: ActionRules, other: Rule, mine: RuleMask): bigint {
  const mask = actionRules.maskOf(other)
  return mask && isWithin(mask.relations, mine.relations) ? mask.fields : 0n
}

/** Rules that add something to those before them. */
function fewest(actionRules: ActionRules, rule: Rule, candidates: readonly RuleMask[]): readonly RuleMask[] {
  const chosen: RuleMask[] = []
  for (const candidate of candidates) {
    if (uncovered(actionRules, rule, [...chosen, candidate]) !== uncovered(actionRules, rule, chosen))
      chosen.push(candidate)
  }
  return chosen
}
