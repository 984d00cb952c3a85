/** Sets a cell up in memory, as the runner does in a store: the caller, objects that relate as stated, the request. */

import { LRUCache } from 'lru-cache'
import type { Caller } from '../../../decide/caller.ts'
import type { Policy } from '../../../decide/policy.ts'
import { ownerFieldOf, relationsText } from '../../../decide/relations/ownership.ts'
import { meaningOfCondition } from '../../../decide/request-conditions/all-conditions.ts'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import { namesText } from '../../../present/quote.ts'
import type { Json, Representation, Route } from '../../../resources/resource.ts'
import { arrangeRequest } from '../arrange/arrange-request.ts'
import { conditionsAbout } from '../arrange/conditions-about.ts'
import { CALLER, lackingValue } from '../arrange/values/samples.ts'
import { withUniqueValues } from '../arrange/values/unique-values.ts'
import type { Attributes } from '../arrange/wanted-object.ts'
import { callerIn, columnText, type MatrixColumn } from '../read/expectation.ts'
import {
  type About,
  arrangeWorld,
  type Cell,
  type Found,
  hasList,
  impossible,
  nothingFound,
  type Parts,
  remembered,
} from './arrange-world.ts'
import type { PredictedRequest } from './predict.ts'

const WITH_BODY: readonly string[] = ['POST', 'PUT', 'PATCH']
const MISSING = '01980000-0000-7000-8000-00000000000b'

/** Of the relations of one resource; each mistake in a relation is another one, and isn't asked for again. */
const MOST_MEANINGS = 100

/** Reuses an earlier setup for relations with the same meanings. */
export function createArrange(files: Parts): Arrange {
  const known = new LRUCache<string, Remembering>({ max: MOST_MEANINGS })
  const routes = new Map(files.resources.routes.map((route) => [route.path, route]))
  const callers = new Map<string, Caller | undefined>()
  return (policy, cell) => {
    const resource = files.resources.byName.get(routes.get(cell.path)?.resource ?? '')
    const meaning = resource ? relationsText(resource, policy.ownership.get(resource.name)) : ''
    const parts = known.get(meaning) ?? { ...files, routes, callers, found: nothingFound() }
    known.set(meaning, parts)
    return arrangeCell(parts, policy, cell)
  }
}

interface Remembering extends Parts {
  readonly found: Found
  /** By path. */
  readonly routes: ReadonlyMap<string, Route>
  /** Reuses caller objects, because a policy remembers the subjects of each caller object. */
  readonly callers: Map<string, Caller | undefined>
}

function arrangeCell(parts: Remembering, policy: Policy, cell: Cell): Arranged {
  const route = parts.routes.get(cell.path)
  const resource = route && parts.resources.byName.get(route.resource)
  if (!route || !resource) return impossible(`no route has the path \`${cell.path}\``)
  return arrangeOn(parts, { policy, cell, route, resource })
}

function arrangeOn(parts: Remembering, about: About): Arranged {
  const { cell, route } = about
  const lacking = lackOf(parts, about)
  if (lacking !== undefined) return { kind: 'unarranged', why: lacking }
  const met = requestFor(parts, about)
  if (met.kind !== 'facts') return met
  const { facts } = met
  const body = bodyFor(parts, about)
  if (body === undefined && cell.body !== undefined) return impossible(`there is no body file \`${cell.body}\``)
  const world = arrangeWorld({ ...parts, now: facts.now }, about)
  if (world.kind !== 'world') return world
  const caller = callerOf(parts, cell.column, world.attributes, facts)
  const id = route.kind === 'item' ? (world.id ?? MISSING) : undefined
  return { kind: 'arranged', request: { caller, id, body: world.body ?? body, objects: world.objects, facts } }
}

function callerOf(
  { callers }: Remembering,
  column: MatrixColumn,
  attributes: Attributes,
  { credential, authTime, acr }: ConditionFacts,
): Caller | undefined {
  return remembered(callers, [columnText(column), attributes, credential, authTime, acr], () => {
    const caller = callerIn(column, CALLER, attributes)
    return caller && { ...caller, ...credentialOf({ credential, authTime, acr }) }
  })
}

/** How a caller signed in, as the server finds it. */
export function credentialOf({ credential, authTime, acr }: Omit<ConditionFacts, 'now' | 'hasCredentials'>) {
  // As decision records name a credential of each kind; a password is the usual one.
  const names: Readonly<Record<string, string>> = { 'api-key': 'key 1', provider: 'provider' }
  return { authTime, acr, credential: names[credential ?? ''] }
}

/** A request that meets exactly the wanted conditions, of those that rules about it name. */
function requestFor({ now, found }: Remembering, { policy, cell, route, resource }: About) {
  const wanted = new Set(cell.when)
  const hasCredentials = cell.column.kind !== 'anonymous'
  if (policy.conditions.size === 0 && wanted.size === 0)
    return { kind: 'facts', facts: { now, hasCredentials } } as const
  const about = conditionsAbout(policy, resource, route.endpoints.get(cell.method))
  const named = [...new Set([...about, ...wanted])]
  const conditions = named.flatMap((name) => policy.conditions.get(name) ?? [])
  const key = [conditions.map((one) => [one.name, meaningOfCondition(one)]), hasCredentials, [...wanted]]
  const facts = remembered(found.requests, key, () =>
    conditions.length === named.length ? arrangeRequest(conditions, wanted, { now, hasCredentials }) : undefined,
  )
  if (!facts) return impossible(`no request meets ${namesText(wanted) || 'no condition'}, and no other condition`)
  return { kind: 'facts', facts } as const
}

/** Undefined for a request that needs no values: no object is made for it, and it sends no body of the schema. */
function lackOf({ samples }: Parts, about: About): string | undefined {
  const { cell, resource } = about
  const known = samples.get(resource.name)
  const sends = WITH_BODY.includes(cell.method) && cell.content === undefined && cell.body === undefined
  const needsObject = cell.object.kind === 'other' || cell.object.kind === 'relations' || hasList(about)
  return known && (sends || needsObject) ? lackingValue(resource.name, known) : undefined
}

function bodyFor(parts: Remembering, about: About): Readonly<Record<string, Json>> | undefined {
  const { cell, resource } = about
  if (!WITH_BODY.includes(cell.method)) return undefined
  if (cell.content !== undefined) return cell.content
  if (cell.body !== undefined) return parts.bodyOf(cell.body)
  return remembered(parts.found.bodies, [resource.name], () => smallestBody(parts, about))
}

/** Without the owner, which the server fills in; with new values in unique fields. */
export function smallestBody(
  { samples }: Pick<Parts, 'samples'>,
  { policy, resource }: Pick<About, 'policy' | 'resource'>,
): Representation {
  const smallest = samples.get(resource.name)?.smallest ?? {}
  const owner = ownerFieldOf(resource, policy.ownership.get(resource.name))
  const named = Object.entries(smallest).filter(([name]) => name !== owner?.name)
  return withUniqueValues(resource, Object.fromEntries(named), new Set())
}

export type ArrangedRequest = Pick<PredictedRequest, 'caller' | 'id' | 'body' | 'objects' | 'facts'>

type Arranged =
  | { readonly kind: 'arranged'; readonly request: ArrangedRequest }
  /** No such object can exist, or none was found. */
  | { readonly kind: 'impossible' | 'unarranged'; readonly why: string }

/** Sets up a cell as a policy's relations and conditions mean it. */
export type Arrange = (policy: Policy, cell: Cell) => Arranged
