/**
 * Looks up an expectation's words in the policy and the schemas. An expectation with an unknown name can't be tried.
 */

import { didYouMean } from '../../../base/did-you-mean.ts'
import type { Policy } from '../../../decide/policy.ts'
import { holdsForOwnRecord } from '../../../decide/relations/all-kinds.ts'
import { namesText } from '../../../present/quote.ts'
import type { Endpoint, Json, Resource, Route } from '../../../resources/resource.ts'
import type { Suite } from '../predict/suite.ts'
import { type Expectation, heldIn, isOwnRows, objectText, relationsIn, rowsText } from '../read/expectation.ts'
import type { BodyFile } from '../read/read-matrices.ts'
import type { TestTarget } from '../target/test-target.ts'

export interface BoundExpectation {
  readonly expectation: Expectation
  readonly route: Route
  readonly resource: Resource
  /** Undefined for a method that the route doesn't accept. */
  readonly endpoint: Endpoint | undefined
  /** The content of the body file. */
  readonly body: Json | undefined
}

/** A cell that is tried on a target. */
export interface CellOnTarget {
  readonly suite: Suite
  readonly target: TestTarget
  readonly bound: BoundExpectation
}

export type Binding =
  | { readonly kind: 'bound'; readonly bound: BoundExpectation }
  | { readonly kind: 'unusable'; readonly why: string }

export function bind(suite: Suite, expectation: Expectation): Binding {
  const route = suite.resources.routes.find(({ path }) => path === expectation.path)
  const resource = route && suite.resources.byName.get(route.resource)
  if (!route || !resource) return unusable(unknownPath(suite, expectation.path))
  const body = bodyOf(suite, expectation)
  const why =
    unknownRole(suite, expectation) ??
    unfitEvent(route, expectation) ??
    unfitObject(suite, route, expectation) ??
    unfitList(suite, route, expectation) ??
    unknownRelation(suite, resource, expectation) ??
    unknownCondition(suite, expectation) ??
    unfitView(suite, route, expectation)
  if (why !== undefined) return unusable(why)
  if (body?.kind === 'unusable') return body
  const endpoint = route.endpoints.get(expectation.method)
  return { kind: 'bound', bound: { expectation, route, resource, endpoint, body: body?.json } }
}

function unknownPath({ resources }: Suite, path: string): string {
  const known = resources.routes.map((route) => route.path)
  return `no route has the path \`${path}\`${didYouMean(path, known)}`
}

function bodyOf({ bodies }: Suite, { body }: Expectation): BodyFile | undefined {
  if (body === undefined) return undefined
  return bodies.get(body) ?? { kind: 'unusable', why: `there is no body file \`${body}\`` }
}

function unknownRole({ policy }: Suite, { column }: Expectation): string | undefined {
  const role = column.kind === 'roles' ? column.roles.find((name) => !policy.roles.has(name)) : undefined
  if (role === undefined) return undefined
  return `roles.yaml declares no role \`${role}\`: ${oneOfNames(role, policy.roles.keys())}`
}

function unfitEvent({ path, events }: Route, { event, object }: Expectation): string | undefined {
  if (event && !events)
    return `\`${path}\` is no stream of events: empty the cell in the column event, or write the path of one`
  if (!event && events && object.kind !== 'none')
    return `\`${path}\` names no object: say in the column event what happens to the object, or write \`none\``
  return undefined
}

function unfitObject(
  { policy }: Suite,
  { kind, path, resource, command }: Route,
  { object, method, becomes, event }: Expectation,
): string | undefined {
  if (event) return undefined
  if (command && becomes)
    return `\`${command.name}\` decides what the object becomes: empty the cell in the column becomes`
  if (kind === 'collection' && object.kind !== 'none') {
    const relations = method === 'POST' ? ', and the relations of the new object in the column becomes' : ''
    return `\`${path}\` names no object: write \`none\` in the column object${relations}`
  }
  if (kind !== 'collection' && object.kind === 'none') {
    return `\`${path}\` names an object: write the relations of the caller to it, or \`missing\``
  }
  const relations = [...(policy.ownership.get(resource)?.relations.values() ?? [])]
  const isOther = object.kind === 'other' && relations.some(holdsForOwnRecord)
  return kind === 'caller' && isOther
    ? `\`${path}\` is only about the caller's own record: do not write \`other\``
    : undefined
}

function unknownRelation({ policy }: Suite, { name }: Resource, expectation: Expectation): string | undefined {
  const { object, becomes = [], expected } = expectation
  const listed = relationsIn(expected.list)
  const named = [...heldIn(object), ...becomes, ...listed]
  const declared = policy.ownership.get(name)?.relations ?? new Map()
  const unknown = named.find((relation) => !declared.has(relation))
  if (unknown === undefined) return undefined
  return `ownership.yaml declares no relation \`${unknown}\` of ${name}: ${oneOfNames(unknown, declared.keys())}`
}

function unknownCondition({ policy }: Suite, { when = [], whenNot = [] }: Expectation): string | undefined {
  const unknown = [...when, ...whenNot].find((name) => !policy.conditions.has(name))
  if (unknown === undefined) return undefined
  return `conditions.yaml declares no condition \`${unknown}\`: ${oneOfNames(unknown, policy.conditions.keys())}`
}

function unfitList({ policy }: Suite, route: Route, { expected, method, object }: Expectation): string | undefined {
  const { list } = expected
  if (!list) return undefined
  if (route.endpoints.get(method)?.operation !== 'list') {
    const request = `${method} \`${route.path}\` (${objectText(object)})`
    return `\`${rowsText(list)}\` is only for lists, but ${request} does not give one: omit it`
  }
  if (isOwnRows(list) && !policy.ownership.get(route.resource)?.relations.has('owner'))
    return `\`[own]\` means the relation \`owner\`, which ${route.resource} lacks: name a relation that it has`
  return undefined
}

function unfitView({ policy }: Suite, route: Route, { expected: { view } }: Expectation): string | undefined {
  if (view === undefined || policy.views.get(route.resource)?.has(view)) return undefined
  return unknownView(policy, route.resource, view)
}

export function unknownView(policy: Policy, resource: string, view: string): string {
  const known = policy.views.get(resource)?.keys() ?? []
  return `views.yaml has no view \`${view}\` of ${resource}: ${oneOfNames(view, known)}`
}

function oneOfNames(name: string, known: Iterable<string>): string {
  const names = [...known]
  if (names.length === 0) return 'declare it'
  return `declare it, or name one of ${namesText(names)}${didYouMean(name, names)}`
}

function unusable(why: string): Binding {
  return { kind: 'unusable', why }
}
