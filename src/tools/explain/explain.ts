/**
 * Why a request is allowed or refused, without a server: the checks of `authorize` in their order, each with its reason.
 * test/review/explain holds it to the oracle and to what a running server answers and records.
 */

import { timeText } from '../../base/time.ts'
import { livingAt } from '../../decide/rules/ends.ts'
import { isBlocked } from '../../policy/parse/parse-blocked.ts'
import { revisionOf } from '../../policy/policy-files.ts'
import { quote } from '../../present/quote.ts'
import { blockPlace } from './block-place.ts'
import { explainRoles } from './caller.ts'
import type { Explanation } from './explanation.ts'
import { type Finding, refused } from './finding.ts'
import { concernsObjects, type Ground, groundOf, isReachable, needsCaller } from './ground.ts'
import { notPermitted, problem } from './judge.ts'
import { nearestMisses } from './nearest-misses.ts'
import { tellLater } from './next-change.ts'
import { decideObjects } from './objects.ts'
import type { About, Question } from './question.ts'
import { quoteRules, ruleLines } from './quote-rules.ts'
import { hasOf } from './relation-facts.ts'
import { decideRedirect, decideRoute, refuseRole } from './role-level.ts'

/** Throws ReviewError when the rules tell too many sets of relations apart. */
export function explain(question: Question): Explanation {
  const { reviewed, asker, asked, path, about } = question
  const { route, method } = asked.kind === 'route' ? asked : { route: undefined, method: asked.method }
  const now = find(question)
  const finding = { ...now, notes: [...now.notes, ...tellLater(question, now, find)] }
  return {
    at: timeText(question.now),
    revision: revisionOf(reviewed.files, reviewed.blockedFile),
    request: {
      method,
      path,
      route: route?.path ?? null,
      resource: route?.resource ?? null,
      action: asked.kind === 'route' ? asked.endpoint.action : null,
      object: about.id ?? null,
    },
    caller: {
      anonymous: asker.kind === 'anonymous',
      subject: asker.kind === 'caller' ? (asker.subject ?? null) : null,
      roles: explainRoles(reviewed.policy, asker),
    },
    ...finding,
    rules: ruleLines(reviewed, asker, finding.rules),
    misses: finding.misses.map((miss) => ({ ...miss, rules: quoteRules(reviewed, miss.rules) })),
    record: null,
  }
}

function find(question: Question): Finding {
  const { asked, reviewed, resources, asker, about, now } = question
  if (asked.kind === 'refused') return refused('request', asked.reason, asked.answer)
  const object = about.kind === 'object' ? about.object : undefined
  const ground = groundOf(livingAt(reviewed.policy, now), resources, {
    ...asked,
    asker,
    object,
    has: hasOf(question),
  })
  const found = findBlock(question, ground) ?? decide(ground, about)
  return { ...found, notes: [...found.notes, ...undeclared(question)] }
}

function findBlock({ reviewed, asker, about, now }: Question, ground: Ground): Finding | undefined {
  if (asker.kind === 'anonymous' || asker.subject === undefined) return undefined
  if (!isBlocked(reviewed.blocked, asker.subject, now)) return undefined
  const place = blockPlace(reviewed, asker.subject)
  const until = reviewed.blocked.get(asker.subject)?.until
  const reason = `the caller is blocked (${place}${until === undefined ? '' : `, until ${timeText(until)}`}), before any rule is looked at`
  const otherwise = decide(ground, about)
  const note = otherwise.answer
    ? `without ${place} it would be ${otherwise.answer.status}, because ${otherwise.reason}`
    : `without ${place}, ${otherwise.reason}`
  return { ...refused('block', reason, problem('blocked')), notes: [note] }
}

function decide(ground: Ground, about: About): Finding {
  if (needsCaller(ground)) {
    const reason = "the path shows the caller's own record, so it needs credentials"
    return { ...refused('own-record', reason, notPermitted(ground)), misses: nearestMisses(ground, new Set()) }
  }
  const redirects = ground.route.redirect !== undefined && ground.endpoint.operation !== 'options'
  if (!concernsObjects(ground) && !redirects) return decideRoute(ground)
  if (!isReachable(ground)) return refuseRole(ground, about)
  return redirects ? decideRedirect(ground) : decideObjects(ground, about)
}

/** A token may claim any role; only declared ones count. */
function undeclared({ reviewed, asker }: Question): readonly string[] {
  return explainRoles(reviewed.policy, asker)
    .filter(({ declared }) => !declared)
    .map(({ name }) => `roles.yaml doesn't declare the role ${quote(name)}: it grants nothing`)
}
