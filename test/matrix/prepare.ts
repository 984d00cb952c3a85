/** Sets up what a cell of a matrix is about: a caller, an object that relates to them as stated, and the request. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Route } from '../../src/resources/resource.ts'
import type { Document } from '../../src/store/contract.ts'
import type { TestServer } from '../server.ts'
import type { Cell } from './read-matrix.ts'

interface Prepared {
  readonly token: string | undefined
  readonly path: string
  readonly body: Document | undefined
}

/** semantics.md, "smallest valid body". */
const SMALLEST: Readonly<Record<string, () => Document>> = {
  notes: () => ({ title: 't' }),
  orders: () => ({ currency: 'EUR', items: [{ sku: 'A1', quantity: 1, unitPrice: 100 }] }),
  accounts: () => ({ userId: 'alice', name: 'main', currency: 'EUR' }),
  // An email is unique, so every cell has its own.
  users: () => ({ email: `${randomUUID()}@example.com`, displayName: 'A' }),
}

/** What else holds of an object: its owner, and the state that a relation names. */
const OWNER: Readonly<Record<string, string>> = { notes: 'ownerId', orders: 'customerId', accounts: 'userId' }
const STATE: Readonly<Record<string, Document>> = { draft: { status: 'draft' } }
const NO_STATE: Readonly<Record<string, Document>> = { orders: { status: 'placed' } }

/** The kinds of object that a matrix must state for a route. */
export function objectsOf(route: Route): readonly string[] {
  if (route.kind === 'collection') return ['none']
  return route.kind === 'item' ? ['own', 'other', 'missing'] : ['own', 'missing']
}

export async function prepare(server: TestServer, cell: Cell): Promise<Prepared> {
  const route = server.app.resources.routes.find(({ path }) => path === cell.path)
  if (!route) throw new Error(`${cell.place}: no route has the path ${cell.path}`)
  const subject = `caller-${randomUUID()}`
  const id = await putObject(server, route.resource, cell.object, subject)
  const anonymous = cell.column === 'anonymous'
  return {
    token: anonymous ? undefined : await server.token(subject, ...cell.column.split('+')),
    path: cell.path.replace('{id}', id),
    body: bodyOf(cell, route),
  }
}

/** Puts the object into the store; the id is one that nothing has where none is asked for. */
async function putObject(server: TestServer, resource: string, object: string, subject: string): Promise<string> {
  if (object === 'none' || object === 'missing') return randomUUID()
  const relations = object === 'own' ? ['owner'] : object.split('+').filter((name) => name !== 'other')
  const owner = relations.includes('owner') ? subject : `somebody-${randomUUID()}`
  const states = relations.filter((name) => name !== 'owner').map((name) => stateOf(name))
  const field = OWNER[resource]
  const document = Object.assign({}, SMALLEST[resource]?.(), NO_STATE[resource], ...states, field && { [field]: owner })
  // A users record is its own owner: the relation is the id.
  const id = field ? randomUUID() : owner
  await server.app.seeding.insert(resource, [{ id, document }])
  return id
}

function stateOf(relation: string): Document {
  const state = STATE[relation]
  if (!state) throw new Error(`no object can be set up for the relation ${relation}`)
  return state
}

function bodyOf({ method, body }: Cell, { resource }: Route): Document | undefined {
  if (!['POST', 'PUT', 'PATCH'].includes(method)) return undefined
  if (body === '') return SMALLEST[resource]?.()
  return JSON.parse(readFileSync(new URL(`bodies/${body}`, import.meta.url), 'utf8'))
}
