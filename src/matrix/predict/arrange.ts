/** Sets a cell up in memory, as the runner does in a store: the caller, objects that relate as stated, the request. */
import type { Policy } from '../../policy/policy.ts'
import type { Json, Representation, Resource, Resources, Route } from '../../resources/resource.ts'
import type { Scalar } from '../../store/contract.ts'
import { arrangeObject } from './arrange-object.ts'
import type { Arrange, Arranged, Cell } from './arrangement.ts'
import type { Asker } from './grants.ts'
import { relationSetsThatCanHold } from './relation-sets.ts'
import { CALLER, type SamplesOf } from './samples.ts'

export interface Parts {
  readonly resources: Resources
  readonly samples: SamplesOf
  /** What a body file holds; undefined where there is none. */
  readonly bodyOf: (file: string) => Readonly<Record<string, Json>> | undefined
}

const OBJECT = '01980000-0000-7000-8000-00000000000a'
const MISSING = '01980000-0000-7000-8000-00000000000b'

/** What it has set up once for the same relations is found again. */
export function createArrange(parts: Parts): Arrange {
  const known = new WeakMap<Policy['ownership'], Map<string, Arranged>>()
  return (policy, cell) => {
    const here = known.get(policy.ownership) ?? new Map<string, Arranged>()
    known.set(policy.ownership, here)
    const key = keyOf(cell)
    const found = here.get(key) ?? arrangeCell(parts, policy, cell)
    here.set(key, found)
    return found
  }
}

/** What the arrangement of a cell depends on. */
function keyOf({ method, path, object, column, body, content }: Cell): string {
  return JSON.stringify([method, path, object, column, body, content])
}

function arrangeCell(parts: Parts, policy: Pick<Policy, 'ownership'>, cell: Cell): Arranged {
  const route = parts.resources.routes.find(({ path }) => path === cell.path)
  const resource = route && parts.resources.byName.get(route.resource)
  if (!route || !resource) return impossible(`no route has the path \`${cell.path}\``)
  return arrangeOn(parts, { policy, cell, route, resource })
}

interface About {
  readonly policy: Pick<Policy, 'ownership'>
  readonly cell: Cell
  readonly route: Route
  readonly resource: Resource
}

function arrangeOn(parts: Parts, about: About): Arranged {
  const { cell, route } = about
  const body = bodyFor(parts, about)
  if (body === undefined && cell.body !== undefined) return impossible(`there is no body file \`${cell.body}\``)
  const asker = askerOf(parts, about)
  if (route.kind === 'collection') {
    if (cell.object.kind !== 'none') return impossible('a collection is asked about with the object `none`')
    return {
      kind: 'scene',
      scene: { asker, id: undefined, body, objects: storeOf(about, listed(parts, about, asker)) },
    }
  }
  if (cell.object.kind === 'none') return impossible('this path names an object')
  const object = cell.object.kind === 'missing' ? 'missing' : stored(parts, about, asker)
  if (!object) return impossible('no object can relate so to this caller')
  const objects = storeOf(about, object === 'missing' ? [] : [object])
  const id = object === 'missing' ? MISSING : String(object.id)
  return { kind: 'scene', scene: { asker, id: route.kind === 'item' ? id : undefined, body, objects } }
}

function stored(parts: Parts, about: About, asker: Asker): Representation | undefined {
  const { object } = about.cell
  const names = object.kind === 'relations' ? object.names : []
  const made = objectWith(parts, about, asker, new Set(names))
  // The caller's own record is the one whose id is the caller's.
  return about.route.kind === 'caller' && made?.id !== asker?.id ? undefined : made
}

function objectWith(
  { samples }: Parts,
  { policy, resource, route }: About,
  asker: Asker,
  relations: ReadonlySet<string>,
): Representation | undefined {
  const known = samples.get(resource.name)
  const ownership = policy.ownership.get(resource.name)
  const mine = [...relations].some((name) => ownership?.relations.get(name)?.field === 'id')
  const id = (mine || route.kind === 'caller') && asker ? asker.id : OBJECT
  return known && arrangeObject({ resource, samples: known, ownership, relations, attributes: attributesOf(asker), id })
}

/** One object for each way in which the caller can relate to one. */
function listed(parts: Parts, about: About, asker: Asker): readonly Representation[] {
  if (about.resource.builtIn || !hasList(about)) return []
  return relationSetsThatCanHold(about.policy, about.resource).flatMap((relations, i) => {
    const object = objectWith(parts, about, asker, relations)
    if (!object) return []
    return [object.id === OBJECT ? { ...object, id: nthObject(i) } : object]
  })
}

/** An id of its own, of the form that the server gives. */
function nthObject(i: number): string {
  return `${OBJECT.slice(0, -4)}${(i + 16).toString(16).padStart(4, '0')}`
}

function hasList({ route, cell }: About): boolean {
  return route.endpoints.get(cell.method)?.operation === 'list'
}

function storeOf({ resource }: About, objects: readonly Representation[]) {
  return new Map([[resource.name, new Map(objects.map((object) => [String(object.id), object]))]])
}

function bodyFor(
  { samples, bodyOf }: Parts,
  { cell, policy, resource }: About,
): Readonly<Record<string, Json>> | undefined {
  if (!['POST', 'PUT', 'PATCH'].includes(cell.method)) return undefined
  if (cell.content !== undefined) return cell.content
  if (cell.body !== undefined) return bodyOf(cell.body)
  const smallest = samples.get(resource.name)?.smallest ?? {}
  const owner = policy.ownership.get(resource.name)?.relations.get('owner')
  // The server fills it in.
  return Object.fromEntries(Object.entries(smallest).filter(([name]) => name !== owner?.field))
}

function askerOf(parts: Parts, about: About): Asker {
  const { column } = about.cell
  if (column.kind === 'anonymous') return undefined
  const claims = claimsFor(parts, about)
  return column.kind === 'user' ? { id: column.id, roles: [], claims } : { id: CALLER, roles: column.roles, claims }
}

/** An attribute for each relation that compares one, of a value that the object's field can have. */
function claimsFor({ samples }: Parts, { policy, resource }: About): Readonly<Record<string, Scalar>> {
  const relations = [...(policy.ownership.get(resource.name)?.relations.values() ?? [])]
  return Object.fromEntries(
    relations.flatMap((relation) => {
      if (relation.kind !== 'caller' || relation.attribute === 'id') return []
      const values = samples.get(resource.name)?.values.get(relation.field) ?? []
      const value = values.flat().find((one) => typeof one === 'string' || typeof one === 'number')
      return typeof value === 'string' || typeof value === 'number' ? [[relation.attribute, value] as const] : []
    }),
  )
}

function attributesOf(asker: Asker): Readonly<Record<string, Scalar>> {
  return asker ? { ...asker.claims, id: asker.id } : {}
}

function impossible(why: string): Arranged {
  return { kind: 'impossible', why }
}
