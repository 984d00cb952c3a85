/** The cases of a request: one decision for each set of relations that the rules about the caller distinguish. */

import { rulePlace } from '../../decide/evidence.ts'
import { problemCodeOf } from '../../decide/refusal.ts'
import { heldWith } from '../../decide/relations/possible-sets.ts'
import { namesIn } from '../../decide/rules/terms.ts'
import { successStatus } from '../../resources/routing/success-status.ts'
import { ReviewError } from '../load-policy.ts'
import type { ExplainedAnswer, ExplainedCase, FieldReport, RelationFact } from './explanation.ts'
import { problem } from './finding.ts'
import { decideOn, listQueryFields, roleLevelOf, type SupposedRequest } from './supposed-request.ts'

/** The limit of cases; nobody would read more. */
const MOST_CASES = 64

type Fields = ReadonlySet<string>
type Names = ReadonlySet<string>

/** Smallest sets first. The request must have passed the role level. */
export function casesOf(request: SupposedRequest, facts: readonly RelationFact[]): readonly ExplainedCase[] {
  return withoutRepeats(distinctSets(request, facts).map((set) => decideCase(request, set)))
}

function decideCase(request: SupposedRequest, relations: ReadonlySet<string>): ExplainedCase {
  const { endpoint, resource, subject } = request
  const decision = decideOn(request, relations)
  if (decision.kind !== 'supposed') throw new Error('the role level of a case is passed, and it concerns an object')
  const { grant, readable, refusal } = decision
  const isList = endpoint.operation === 'list'
  const hasFields = resource.actions.get(endpoint.action)?.hasFields === true
  return {
    relations: [...relations],
    outcome: refusal ? 'deny' : 'allow',
    listed: isList ? !refusal : null,
    answer:
      refusal && !isList
        ? problem(problemCodeOf(refusal, subject.caller ? 'caller' : 'anonymous'))
        : success(request, readable),
    rules: grant.lines.map(rulePlace),
    fields: !refusal && hasFields ? reportFields(request, grant.fields, readable) : null,
  }
}

function success(request: SupposedRequest, readable: Fields): ExplainedAnswer {
  const status = successStatus(request.endpoint.operation, shownFields(request, readable).length > 0)
  return { status, code: null, headers: {} }
}

/**
 * `granted`: the fields that the action grants; `readable`: the fields that `read` grants, shown in answers to writes.
 */
function reportFields(request: SupposedRequest, granted: Fields, readable: Fields): FieldReport {
  const { operation } = request.endpoint
  const isWrite = operation === 'create' || operation === 'replace' || operation === 'update'
  const fields = [...request.resource.fields.values()]
  const own = fields.filter(({ readOnly }) => !readOnly).map(({ name }) => name)
  const shows = isWrite ? readable : granted
  const shown = shownFields(request, shows)
  const names = fields.map(({ name }) => name)
  return {
    shown,
    notShown: names.filter((name) => !shows.has(name)),
    cut: names.filter((name) => shows.has(name) && !shown.includes(name)),
    writable: isWrite ? own.filter((name) => granted.has(name)) : null,
    notWritable: isWrite ? own.filter((name) => !granted.has(name)) : [],
    server: isWrite ? fields.filter(({ readOnly }) => readOnly).map(({ name }) => name) : [],
    queryable: operation === 'list' ? listQueryFields(request) : null,
  }
}

/** The granted fields that are in the path's view, in the schema's order. */
function shownFields({ route, policy, resource }: SupposedRequest, granted: Fields): readonly string[] {
  const view = route.view === undefined ? granted : policy.viewOf(resource.name, route.view)
  return [...resource.fields.keys()].filter((name) => granted.has(name) && view.has(name))
}

/**
 * The sets of relations that the rules about the caller distinguish. For every other set, the same rules match as for
 * the largest of these sets within it. Relations that certainly hold are in every set; relations that certainly don't
 * hold are in no set.
 */
function distinctSets(request: SupposedRequest, facts: readonly RelationFact[]): readonly Names[] {
  const holding = new Set(facts.filter(({ holds }) => holds === true).map(({ name }) => name))
  const failing = new Set(facts.filter(({ holds }) => holds === false).map(({ name }) => name))
  // The rules about `read` decide what the answer shows.
  const columns = [undefined, 'read'].flatMap((action) =>
    roleLevelOf(request, action).relationColumns('all').map(namesIn),
  )
  const sets = new Map<string, Names>([['', holding]])
  for (const relations of columns.filter((names) => !names.some((name) => failing.has(name)))) {
    for (const set of [...sets.values()]) {
      const union = set.union(new Set(relations))
      sets.set([...union.difference(holding)].toSorted().join('+'), union)
    }
    if (sets.size > MOST_CASES) throw tooMany()
  }
  const inOrder = (set: Names) => new Set(facts.map(({ name }) => name).filter((name) => set.has(name)))
  return [...sets.values()]
    .filter(holdForSomeObject(request, columns, { holding, failing }))
    .map(inOrder)
    .toSorted((a, b) => a.size - b.size)
}

/**
 * Whether a set decides for some object: its relations can hold together, and other relations that must then hold too
 * add no further rule. Doesn't question what --relation says.
 */
function holdForSomeObject(
  { parsed, resource }: SupposedRequest,
  columns: readonly (readonly string[])[],
  { holding, failing }: Readonly<Record<'holding' | 'failing', Names>>,
): (set: Names) => boolean {
  const relations = [...(parsed.ownership.get(resource.name)?.relations.values() ?? [])]
  if (!heldWith(holding, relations, resource)?.isDisjointFrom(failing)) return () => true
  return (set) => {
    const held = heldWith(set, relations, resource)
    const more = columns.filter((column) => column.some((name) => !set.has(name)))
    return held?.isDisjointFrom(failing) === true && !more.some((column) => column.every((name) => held.has(name)))
  }
}

function tooMany(): ReviewError {
  return new ReviewError(
    `the rules distinguish more than ${MOST_CASES} sets of relations: name one with --relation, ` +
      'or an object with --object',
  )
}

/**
 * Omits a case if it has the same decision as each of the largest cases within it: one of those represents its objects.
 */
function withoutRepeats(cases: readonly ExplainedCase[]): readonly ExplainedCase[] {
  const kept: ExplainedCase[] = []
  for (const one of cases) {
    const within = kept.filter((other) => isWithin(other, one))
    const largest = within.filter((other) => !within.some((more) => more !== other && isWithin(other, more)))
    if (largest.length === 0 || largest.some((other) => textOf(other) !== textOf(one))) kept.push(one)
  }
  return kept
}

function isWithin(small: ExplainedCase, large: ExplainedCase): boolean {
  return new Set(small.relations).isSubsetOf(new Set(large.relations))
}

function textOf({ relations, ...rest }: ExplainedCase): string {
  return JSON.stringify(rest)
}
