/**
 * Which rules have no effect: without them every caller is granted the same, whatever the resource, action, relations and
 * field. All that are found can be taken away at once.
 *
 * granted = some allow and no deny. So an allow without effect shows at the caller who has its subject and no more, when
 * just its own relations hold: more subjects or relations only bring more rules that make it needless. A deny without
 * effect shows at the callers who have its subject and that of an allow, when just the relations of both hold.
 * test/review/check/without-effect.test.ts holds it to the oracle.
 */

import type { Rule } from '../../../decide/policy.ts'
import { endsOf, lives } from '../../../decide/rules/ends.ts'
import { type Area, isWithin, type Reach } from './action-rules.ts'
import { canBeOneCaller, type RuleMap } from './rule-index.ts'

/** Why a rule that can match has no effect; `by` names rules that have one, or are needless only beside each other. */
export type Idle =
  | { readonly kind: 'covered' | 'under-deny'; readonly rule: Rule; readonly by: readonly Rule[] }
  | { readonly kind: 'nothing-to-deny'; readonly rule: Rule }

/**
 * Rules that can't match anywhere aren't its matter. The map is the same afterwards. Where rules end, what is found has no
 * effect at any time until it ends itself, and `by` names rules that don't end before it.
 */
export function findWithoutEffect(map: RuleMap, rules: readonly Rule[]): readonly Idle[] {
  const idle = new Set(idleUntilTheirEnd(map, rules))
  for (const rule of idle) map.remove(rule)
  const gone = new Set<Rule>()
  const found = [...Map.groupBy(idle, endOf)]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([end, some]) => {
      for (const rule of rules.filter((one) => !idle.has(one) && endOf(one) < end)) {
        map.remove(rule)
        gone.add(rule)
      }
      return some.map((rule) => (rule.effect === 'deny' ? whyDeny(map, rule) : whyAllow(map, rule)))
    })
  for (const rule of idle.union(gone)) map.restore(rule)
  return found
}

/**
 * Between two ends nothing changes, so each such span is looked at. What has no effect in all of its spans can be taken
 * away: less is missing then than what could be missing in any of them.
 */
function idleUntilTheirEnd(map: RuleMap, rules: readonly Rule[]): readonly Rule[] {
  // Of rules that make each other needless the one that lives longest stays: the last is taken first.
  let candidates = rules.toSorted((a, b) => endOf(b) - endOf(a))
  for (const from of [Number.NEGATIVE_INFINITY, ...endsOf(rules)]) {
    for (const rule of rules) if (rule.until === from) map.remove(rule)
    const living = candidates.filter((rule) => lives(rule, from))
    // The denies come first, beside every allow: a deny has its effect on allows, also on those that lie under it.
    const denies = takeIdle(map, living, 'deny', denyHasEffect)
    const idle = new Set([...denies, ...takeIdle(map, living, 'allow', allowHasEffect)])
    for (const rule of idle) map.restore(rule)
    candidates = candidates.filter((rule) => !lives(rule, from) || idle.has(rule))
  }
  for (const rule of rules) if (rule.until !== undefined) map.restore(rule)
  return candidates
}

/** Finite for rules without an end too, so that the difference of two is a number. */
function endOf({ until = Number.MAX_VALUE }: Rule): number {
  return until
}

type HasEffect = (map: RuleMap, area: Area, reach: Reach) => boolean

/** From the last to the first, so that of rules that make each other needless the earlier one stays. */
function takeIdle(map: RuleMap, rules: readonly Rule[], effect: Rule['effect'], hasEffect: HasEffect): readonly Rule[] {
  const idle: Rule[] = []
  for (const rule of rules.toReversed()) {
    const areas = map.areasOf(rule)
    if (rule.effect !== effect || areas.length === 0) continue
    const inArea = (area: Area) => {
      const reach = area.reachOf(rule)
      return reach !== undefined && hasEffect(map, area, reach)
    }
    if (areas.some(inArea)) continue
    map.remove(rule)
    idle.push(rule)
  }
  return idle
}

function allowHasEffect(map: RuleMap, area: Area, { rule, relations, fields }: Reach): boolean {
  const subjects = map.subjectsOf(rule.subject)
  const allowed = area.namedWithout(rule, 'allow', subjects, relations)
  return (fields & ~allowed & ~area.named('deny', subjects, relations)) !== 0n
}

function denyHasEffect(map: RuleMap, area: Area, { rule, relations, fields }: Reach): boolean {
  const subjects = map.subjectsOf(rule.subject)
  const left = fields & ~area.namedWithout(rule, 'deny', subjects, relations)
  if (left === 0n) return false
  return area.subjects('allow').some((other) => {
    if (!canBeOneCaller(rule.subject, other)) return false
    const together = subjects.union(map.subjectsOf(other))
    return area.groups('allow', other).some((group) => {
      const both = left & group.fields
      return both !== 0n && (both & ~area.namedWithout(rule, 'deny', together, relations | group.relations)) !== 0n
    })
  })
}

// ---- Why ------------------------------------------------------------------------------------------------------------

function whyDeny(map: RuleMap, rule: Rule): Idle {
  const by = covering(map, rule, ['deny'])
  return by ? { kind: 'covered', rule, by } : { kind: 'nothing-to-deny', rule }
}

function whyAllow(map: RuleMap, rule: Rule): Idle {
  const denies = covering(map, rule, ['deny'])
  if (denies) return { kind: 'under-deny', rule, by: denies }
  return { kind: 'covered', rule, by: covering(map, rule, ['allow']) ?? covering(map, rule, ['deny', 'allow']) ?? [] }
}

/** Rules that make it needless wherever it can match: a single one where there is one; undefined when there are none. */
function covering(map: RuleMap, rule: Rule, effects: readonly Rule['effect'][]): readonly Rule[] | undefined {
  const areas = map.areasOf(rule)
  const [first] = areas
  const candidates = first ? overlapping(map, first, rule, effects) : []
  const single = candidates.find((one) => areas.every((area) => uncovered(area, rule, [one]) === 0n))
  if (single) return [single.rule]
  const found = areas.map((area) => {
    const some = fewest(area, rule, overlapping(map, area, rule, effects))
    return uncovered(area, rule, some) === 0n ? some.map((one) => one.rule) : undefined
  })
  return found.every((some) => some !== undefined) ? [...new Set(found.flat())] : undefined
}

/** The reaches in an area that hold whenever the rule's does, for its caller. */
function overlapping(map: RuleMap, area: Area, rule: Rule, effects: readonly Rule['effect'][]): readonly Reach[] {
  const mine = area.reachOf(rule)
  if (!mine) return []
  const groups = effects.flatMap((effect) =>
    [...map.subjectsOf(rule.subject)].flatMap((subject) => [...area.groups(effect, subject)]),
  )
  return groups
    .filter(({ relations }) => isWithin(relations, mine.relations))
    .flatMap(({ reaches }) => reaches)
    .filter(({ fields }) => (fields & mine.fields) !== 0n)
}

function uncovered(area: Area, rule: Rule, by: readonly Reach[]): bigint {
  const mine = area.reachOf(rule)
  if (!mine) return 0n
  return by.reduce((left, { rule: other }) => left & ~fieldsFor(area, other, mine), mine.fields)
}

/** What the other rule names in this area whenever `mine` holds. */
function fieldsFor(area: Area, other: Rule, mine: Reach): bigint {
  const reach = area.reachOf(other)
  return reach && isWithin(reach.relations, mine.relations) ? reach.fields : 0n
}

/** Reaches that add something to those before them. */
function fewest(area: Area, rule: Rule, candidates: readonly Reach[]): readonly Reach[] {
  const chosen: Reach[] = []
  for (const candidate of candidates) {
    if (uncovered(area, rule, [...chosen, candidate]) !== uncovered(area, rule, chosen)) chosen.push(candidate)
  }
  return chosen
}
