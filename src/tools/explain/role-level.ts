/** What is decided before any object is looked at: the role level, and requests that concern no object. */
import type { Rule } from '../../decide/policy.ts'
import { allowed, type Finding, notPermitted, refused } from './finding.ts'
import { type Ground, pageRules, verdictOf } from './ground.ts'
import { isAllowed, routeAnswer } from './judge.ts'
import { nearestMisses } from './nearest-misses.ts'
import type { KnownObject } from './question.ts'

const NO_RELATIONS: ReadonlySet<string> = new Set()

/** OPTIONS and the program's own paths. */
export function decideRoute(ground: Ground): Finding {
  const verdict = verdictOf(ground, ground.action, NO_RELATIONS)
  const rules = [...verdict.allows, ...verdict.denies].toSorted((a, b) => a.line - b.line)
  if (isAllowed(ground, verdict)) return { ...allowed('role', reasonOf(rules, 'allow'), routeAnswer(ground)), rules }
  const misses = nearestMisses(ground, NO_RELATIONS)
  return { ...refused('role', reasonOf(rules, 'deny'), notPermitted(ground)), rules, misses }
}

/** No set of relations would be allowed, so the server looks at no object. */
export function refuseRole(ground: Ground, known: KnownObject): Finding {
  const rules = pageRules(ground, ground.action)
  const misses = nearestMisses(ground, known.kind === 'relations' ? known.holding : NO_RELATIONS)
  const reason = `${reasonOf(rules, 'deny')}, whatever the object`
  return { ...refused('role', reason, notPermitted(ground)), rules, misses }
}

/** A path that is elsewhere: the caller is led on when the action might be allowed. */
export function decideRedirect(ground: Ground): Finding {
  const rules = pageRules(ground, ground.action)
  const note = 'the path that it leads to decides again'
  return { ...allowed('role', reasonOf(rules, 'allow'), routeAnswer(ground)), rules, notes: [note] }
}

/** In words, why rules that match allow or refuse. */
export function reasonOf(rules: readonly Rule[], outcome: 'allow' | 'deny'): string {
  const allows = rules.filter(({ effect }) => effect === 'allow').length
  const denies = rules.length - allows
  if (outcome === 'allow') return denies > 0 ? 'a rule allows it, and no deny takes all of it away' : 'a rule allows it'
  return allows === 0 ? 'no rule allows it to this caller' : 'a deny takes away all that is allowed'
}
