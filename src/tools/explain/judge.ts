/** What is decided for one set of relations, and what a client then gets: the server's `authorize` without a server. */
import type { Verdict } from '../../decide/grants/evaluate.ts'
import { redirectStatus, successStatus } from '../../resources/routing/success-status.ts'
import type { Answer, Case, RulePlace } from './explanation.ts'
import { reportFields, shownFields } from './fields.ts'
import { notPermitted, problem } from './finding.ts'
import { type Ground, readAction, verdictOf } from './ground.ts'
import { placeOf } from './quote-rules.ts'

/** The role level must have been passed. */
export function judge(ground: Ground, relations: ReadonlySet<string>): Case {
  const { endpoint, action } = ground
  const verdict = verdictOf(ground, action, relations)
  const allowed = isAllowed(ground, verdict)
  const readable = verdictOf(ground, readAction(ground), relations).fields
  const isList = endpoint.operation === 'list'
  return {
    relations: [...relations],
    outcome: allowed ? 'allow' : 'deny',
    listed: isList ? allowed : null,
    answer: allowed || isList ? success(ground, readable) : refusal(ground, readable),
    rules: placesOf(verdict),
    fields: allowed && action.hasFields ? reportFields(ground, verdict.fields, readable) : null,
  }
}

/** A read must show at least one field of the path's view. */
export function isAllowed(ground: Ground, { fields }: Verdict): boolean {
  return ground.endpoint.operation === 'read' && !ground.resource.builtIn
    ? shownFields(ground, fields).length > 0
    : fields.size > 0
}

function placesOf({ allows, denies }: Pick<Verdict, 'allows' | 'denies'>): readonly RulePlace[] {
  return [...allows, ...denies].toSorted((a, b) => a.line - b.line).map(placeOf)
}

/** The answer to a request that concerns no object and is allowed. */
export function routeAnswer({ route, endpoint, method }: Ground): Answer {
  if (endpoint.operation === 'options')
    return { status: successStatus('options'), code: null, headers: { Allow: route.allow } }
  // Of the session, if the caller has one: the command line can't know.
  if (!route.redirect) return { status: endpoint.operation === 'delete' ? 204 : 200, code: null, headers: {} }
  return { status: redirectStatus(route.redirect, method), code: null, headers: { Location: route.redirect.to } }
}

function success(ground: Ground, readable: ReadonlySet<string>): Answer {
  const shown = shownFields(ground, readable).length > 0
  return { status: successStatus(ground.endpoint.operation, shown), code: null, headers: {} }
}

/** Where the resource conceals its objects, one that the caller may not read isn't there. */
function refusal(ground: Ground, readable: ReadonlySet<string>): Answer {
  const conceals = ground.policy.ownership.get(ground.resource.name)?.conceal === true
  const concealed = conceals && ground.endpoint.operation !== 'create' && readable.size === 0
  return concealed ? problem('object-not-found') : notPermitted(ground)
}
