/**
 * Finds rules without effect: without them every caller is granted the same, for every resource, action, situation and
 * field. All rules that are found can be deleted at once.
 *
 * granted = some allow and no deny. So for an allow it is enough to look at one caller: the caller with only the
 * allow's subject. More subjects only add rules that make the allow redundant. For a deny it is enough to look at the
 * callers with two subjects, the deny's and an allow's. test/review/check/without-effect.test.ts holds this to the
 * oracle.
 */

import type { ActionRules, PlacedRule } from '../../../analysis/action-rules.ts'
import { type Extent, shared, without, withoutAll } from '../../../analysis/regions.ts'
import type { ActionRulesIndex } from '../../../analysis/rule-index.ts'
import type { Rule } from '../../../decide/policy.ts'
import { endsOf, lives } from '../../../decide/rules/rule-table.ts'

/**
 * Why a rule that can match has no effect. The rules `by` have an effect, or each is redundant only beside the others.
 */
export type RedundantRule =
  | { readonly kind: 'covered' | 'under-deny'; readonly rule: Rule; readonly by: readonly Rule[] }
  | { readonly kind: 'nothing-to-deny'; readonly rule: Rule }

/**
 * Ignores rules that can't match anywhere. The index is the same afterwards. If rules end: a rule that is found has no
 * effect at any time until its own end, and the rules `by` don't end before it.
 */
export function findWithoutEffect(index: ActionRulesIndex, rules: readonly Rule[]): readonly RedundantRule[] {
  const redundant = new Set(redundantUntilTheirEnd(index, rules))
  for (const rule of redundant) index.remove(rule)
  const gone = new Set<Rule>()
  const found = [...Map.groupBy(redundant, endOf)]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([end, some]) => {
      for (const rule of rules.filter((one) => !redundant.has(one) && endOf(one) < end)) {
        index.remove(rule)
        gone.add(rule)
      }
      return some.map((rule) => (rule.effect === 'deny' ? whyDeny(index, rule) : whyAllow(index, rule)))
    })
  for (const rule of redundant.union(gone)) index.restore(rule)
  return found
}

/**
 * Between two ends of rules nothing changes, so each such span is looked at on its own. A rule without effect in all of
 * its spans can be deleted: in each span, the deleted rules are only some of the rules that could be deleted there.
 */
function redundantUntilTheirEnd(index: ActionRulesIndex, rules: readonly Rule[]): readonly Rule[] {
  // Of rules that make each other redundant the one with the latest end is kept: takeRedundant starts with the last.
  let candidates = rules.toSorted((a, b) => endOf(b) - endOf(a))
  for (const from of [Number.NEGATIVE_INFINITY, ...endsOf(rules)]) {
    for (const rule of rules) if (rule.until === from) index.remove(rule)
    const living = candidates.filter((rule) => lives(rule, from))
    // Denies come first, while every allow is in the index: a deny also has an effect on redundant allows.
    const denies = takeRedundant(index, living, 'deny', denyHasEffect)
    const redundant = new Set([...denies, ...takeRedundant(index, living, 'allow', allowHasEffect)])
    for (const rule of redundant) index.restore(rule)
    candidates = candidates.filter((rule) => !lives(rule, from) || redundant.has(rule))
  }
  for (const rule of rules) if (rule.until !== undefined) index.restore(rule)
  return candidates
}

/** Also finite for rules without an end, so that two ends can be subtracted. */
function endOf({ until = Number.MAX_VALUE }: Rule): number {
  return until
}

type HasEffect = (index: ActionRulesIndex, actionRules: ActionRules, placed: PlacedRule) => boolean

/** Goes from the last rule to the first: of rules that make each other redundant it keeps the earlier one. */
function takeRedundant(
  index: ActionRulesIndex,
  rules: readonly Rule[],
  effect: Rule['effect'],
  hasEffect: HasEffect,
): readonly Rule[] {
  const redundant: Rule[] = []
  for (const rule of rules.toReversed()) {
    const places = index.placesOf(rule)
    if (rule.effect !== effect || places.length === 0) continue
    const hasEffectIn = (actionRules: ActionRules) => {
      const placed = actionRules.placed(rule)
      return placed !== undefined && hasEffect(index, actionRules, placed)
    }
    if (places.some(hasEffectIn)) continue
    index.remove(rule)
    redundant.push(rule)
  }
  return redundant
}

function allowHasEffect(index: ActionRulesIndex, actionRules: ActionRules, placed: PlacedRule): boolean {
  const subjects = index.subjectsOf(placed.rule.subject)
  const left = withoutAll(actionRules.space.regions, [placed], actionRules.extents('allow', subjects, placed))
  return actionRules.granted(left, subjects).length > 0
}

function denyHasEffect(index: ActionRulesIndex, actionRules: ActionRules, placed: PlacedRule): boolean {
  const { rule } = placed
  const { regions } = actionRules.space
  const subjects = index.subjectsOf(rule.subject)
  const left = withoutAll(regions, [placed], actionRules.extents('deny', subjects, placed))
  if (left.length === 0) return false
  const allowed = actionRules.subjects('allow')
  const takesFrom = (other: string) => {
    if (!allowed.has(other) || !index.canBeOneCaller(rule.subject, other)) return false
    const further = index.subjectsOf(other).difference(subjects)
    return actionRules.groups('allow', other).some((group) => {
      const denied = left.flatMap((extent) => shared(regions, extent, group))
      return withoutAll(regions, denied, actionRules.extents('deny', further)).length > 0
    })
  }
  // Mostly it takes something from what its own subjects have.
  return subjects.values().some(takesFrom) || allowed.values().some(takesFrom)
}

// ---- Why ------------------------------------------------------------------------------------------------------------

function whyDeny(index: ActionRulesIndex, rule: Rule): RedundantRule {
  const by = covering(index, rule, ['deny'])
  return by ? { kind: 'covered', rule, by } : { kind: 'nothing-to-deny', rule }
}

function whyAllow(index: ActionRulesIndex, rule: Rule): RedundantRule {
  const denies = covering(index, rule, ['deny'])
  if (denies) return { kind: 'under-deny', rule, by: denies }
  return {
    kind: 'covered',
    rule,
    by: covering(index, rule, ['allow']) ?? covering(index, rule, ['deny', 'allow']) ?? [],
  }
}

/** Rules that make the rule redundant wherever it can match: a single one if possible; undefined if there are none. */
function covering(
  index: ActionRulesIndex,
  rule: Rule,
  effects: readonly Rule['effect'][],
): readonly Rule[] | undefined {
  const places = index.placesOf(rule)
  const [first] = places
  const candidates = first ? overlapping(index, first, rule, effects) : []
  const single = candidates.find((one) => places.every((actionRules) => covers(actionRules, one.rule, rule)))
  if (single) return [single.rule]
  const found = places.map((actionRules) => fewest(actionRules, rule, overlapping(index, actionRules, rule, effects)))
  return found.every((some) => some !== undefined) ? [...new Set(found.flat())] : undefined
}

/** The rules about its caller that match where this rule does, and name some of its fields. */
function overlapping(
  index: ActionRulesIndex,
  actionRules: ActionRules,
  rule: Rule,
  effects: readonly Rule['effect'][],
): readonly PlacedRule[] {
  const { regions } = actionRules.space
  const mine = actionRules.placed(rule)
  if (!mine) return []
  return effects
    .flatMap((effect) =>
      [...index.subjectsOf(rule.subject)].flatMap((subject) => [...actionRules.groups(effect, subject)]),
    )
    .filter((group) => shared(regions, mine, group).length > 0)
    .flatMap((group) => group.rules)
    .filter(({ fields }) => (fields & mine.fields) !== 0n)
}

/** Whether one rule says all that another one says. */
function covers(actionRules: ActionRules, rule: Rule, other: Rule): boolean {
  const [mine, wide] = [actionRules.placed(other), actionRules.placed(rule)]
  return !mine || (wide !== undefined && without(actionRules.space.regions, [mine], wide).length === 0)
}

/** Rules that together say all that the rule says. Each adds something to the ones before it. */
function fewest(actionRules: ActionRules, rule: Rule, candidates: readonly PlacedRule[]): readonly Rule[] | undefined {
  const mine = actionRules.placed(rule)
  const chosen: Rule[] = []
  let left: readonly Extent[] = mine ? [mine] : []
  for (const candidate of candidates) {
    const less = without(actionRules.space.regions, left, candidate)
    const isSame = less.length === left.length && less.every((extent, i) => extent === left[i])
    if (!isSame) chosen.push(candidate.rule)
    left = less
  }
  return left.length === 0 ? chosen : undefined
}
