/**
 * Why a request is allowed or refused, without a server: the checks of `authorize` in their order, each with its reason.
 * test/review/explain holds it to the oracle and to what a running server answers and records.
 */

import { timeText } from '../../base/time.ts'
import { livingAt } from '../../decide/rules/ends.ts'
import { isBlocked } from '../../policy/parse/parse-blocked.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import { quote } from '../../present/quote.ts'
import type { Explanation } from './explanation.ts'
import { type Finding, notPermitted, problem, refused } from './finding.ts'
import { concernsObjects, type Ground, groundOf, isReachable, needsCaller } from './ground.ts'
import { nearestMisses } from './nearest-misses.ts'
import { noteNextChange } from './next-change.ts'
import { decideObjects } from './objects.ts'
import type { KnownObject, Question } from './question.ts'
import { explainRoles } from './question.ts'
import { blockPlace, quoteRules, ruleLines } from './quote-rules.ts'
import { hasOf } from './relation-facts.ts'
import { decideRedirect, decideRoute, refuseRole } from './role-level.ts'

/** Throws ReviewError when the rules tell too many sets of relations apart. */
export function explain(question: Question): Explanation {
  const { reviewed, caller, request, path, known } = question
  const { route, method } = request.kind === 'route' ? request : { route: undefined, method: request.method }
  const now = find(question)
  const finding = { ...now, notes: [...now.notes, ...noteNextChange(question, now, find)] }
  return {
    at: timeText(question.now),
    revision: revisionOf(reviewed.files, reviewed.blockedFile),
    request: {
      method,
      path,
      route: route?.path ?? null,
      resource: route?.resource ?? null,
      action: request.kind === 'route' ? request.endpoint.action : null,
      object: known.id ?? null,
    },
    caller: {
      anonymous: caller.kind === 'anonymous',
      subject: caller.kind === 'caller' ? (caller.subject ?? null) : null,
      roles: explainRoles(reviewed.policy, caller),
    },
    ...finding,
    rules: ruleLines(reviewed, caller, finding.rules),
    misses: finding.misses.map((miss) => ({ ...miss, rules: quoteRules(reviewed, miss.rules) })),
    record: null,
  }
}

function find(question: Question): Finding {
  const { request, reviewed, resources, caller, known, now } = question
  if (request.kind === 'refused') return refused('request', request.reason, request.answer)
  const object = known.kind === 'object' ? known.object : undefined
  const ground = groundOf(livingAt(reviewed.policy, now), resources, {
    ...request,
    caller,
    object,
    has: hasOf(question),
  })
  const found = findBlock(question, ground) ?? decide(ground, known)
  return { ...found, notes: [...found.notes, ...undeclared(question)] }
}

function findBlock({ reviewed, caller, known, now }: Question, ground: Ground): Finding | undefined {
  if (caller.kind === 'anonymous' || caller.subject === undefined) return undefined
  if (!isBlocked(reviewed.blocked, caller.subject, now)) return undefined
  const place = blockPlace(reviewed, caller.subject)
  const until = reviewed.blocked.get(caller.subject)?.until
  const reason = `the caller is blocked (${place}${until === undefined ? '' : `, until ${timeText(until)}`}), before any rule is looked at`
  const otherwise = decide(ground, known)
  const note = otherwise.answer
    ? `without ${place} it would be ${otherwise.answer.status}, because ${otherwise.reason}`
    : `without ${place}, ${otherwise.reason}`
  return { ...refused('block', reason, problem('blocked')), notes: [note] }
}

function decide(ground: Ground, known: KnownObject): Finding {
  if (needsCaller(ground)) {
    const reason = "the path shows the caller's own record, so it needs credentials"
    return { ...refused('own-record', reason, notPermitted(ground)), misses: nearestMisses(ground, new Set()) }
  }
  const redirects = ground.route.redirect !== undefined && ground.endpoint.operation !== 'options'
  if (!concernsObjects(ground) && !redirects) return decideRoute(ground)
  if (!isReachable(ground)) return refuseRole(ground, known)
  return redirects ? decideRedirect(ground) : decideObjects(ground, known)
}

/** A token may claim any role; only declared ones count. */
function undeclared({ reviewed, caller }: Question): readonly string[] {
  return explainRoles(reviewed.policy, caller)
    .filter(({ declared }) => !declared)
    .map(({ name }) => `roles.yaml doesn't declare the role ${quote(name)}: it grants nothing`)
}
