/** The product's answers to the requests that the oracle answers: its parser, its decisions, facts in memory. */
import { CATALOGUE } from '../../src/base/problems/catalogue.ts'
import type { Caller } from '../../src/decide/caller.ts'
import { lookUpIn, meets } from '../../src/decide/conditions/condition.ts'
import { decide, type Question } from '../../src/decide/decide.ts'
import type { CreateDecision, UpdateDecision } from '../../src/decide/decision.ts'
import { type FactSource, type FactsAtHand, withFacts } from '../../src/decide/facts.ts'
import type { ListDecision } from '../../src/decide/grants/list-decision.ts'
import type { Permit } from '../../src/decide/permits/permit.ts'
import { proposeNew, proposeReplacement, proposeUpdate } from '../../src/decide/permits/propose.ts'
import { isRefusal, problemCodeOf, type Refusal } from '../../src/decide/refusal.ts'
import type { Snapshot } from '../../src/decide/snapshot.ts'
import { represent, type StoredObject } from '../../src/resources/object.ts'
import type { Operation, Representation } from '../../src/resources/resource.ts'
import type { Asked } from './arbitrary-language.ts'
import { LANGUAGE_RESOURCES } from './language-fixture.ts'
import type { Answer, OracleRequest } from './oracle/answer.ts'
import { storedOf } from './product.ts'
import { render } from './render.ts'
import type { Plain, World } from './world.ts'

/** The files of a policy, as a person would write them. */
export function filesOfWorld({ policy }: World) {
  return render(policy, { lineEnd: '\n', padding: ' ', comments: false })
}

export async function productAnswer(policy: Snapshot, asked: Asked): Promise<Answer> {
  const { world, request } = asked
  const { operation = request.action } = request
  const decision = await withFacts(decide(questionOf(policy, asked), policy), factsOf(world))
  if (isRefusal(decision)) return refused(world, decision)
  switch (decision.kind) {
    case 'route':
    case 'watch':
    case 'delete':
      return { status: 204 }
    case 'read':
      return { status: 200, shows: sorted(decision.representation) }
    case 'list':
      return listed(world, decision)
    case 'create':
      return create(world, decision, request)
    case 'update':
      return update(world, decision, { ...request, operation })
  }
}

export function questionOf(policy: Snapshot, { world, request, viewName }: Asked): Question {
  const { action, operation = action, id } = request
  const resource = LANGUAGE_RESOURCES.byName.get(world.resource.name)
  if (!resource || world.now === undefined) throw new Error('the world is not whole')
  const kind = ['list', 'create'].includes(operation) ? 'collection' : 'item'
  const route = { path: '/', resource: resource.name, kind, endpoints: new Map(), allow: '' } as const
  return {
    route: { ...route, ...(viewName !== undefined && { view: viewName }) },
    endpoint: { operation: operation as Operation, action },
    resource,
    subject: policy.subjectOf(callerOf(world)),
    blocked: false,
    id,
    now: world.now,
    address: world.address,
  }
}

function callerOf({ caller }: World): Caller | undefined {
  const { id, record, credential = 'password', ...more } = caller
  return id === undefined ? undefined : { id, ...more, credential: CREDENTIALS[credential] }
}

/** By its kind, a credential as decision records write it. */
const CREDENTIALS: Readonly<Record<string, string>> = { 'api-key': 'key 1', provider: 'issuer https://id.example.com' }

export function factsOf({ objects }: World) {
  const all = (resource: string) => objects?.get(resource) ?? []
  const find = (resource: string, id: string) => {
    const found = all(resource).find((one) => one.id === id)
    return found && storedOf(found)
  }
  return {
    user: (id) => find('users', id),
    object: find,
    lookup: lookUpIn((name) => all(name) as readonly Representation[]),
  } satisfies FactsAtHand
}

function refused({ caller }: World, refusal: Refusal): Answer {
  const { status } = CATALOGUE[problemCodeOf(refusal, caller.id === undefined ? 'anonymous' : 'caller')]
  return refusal.stepUp ? { status: 401, stepUp: refusal.stepUp.conditions } : { status }
}

function listed(world: World, decision: ListDecision): Answer {
  const objects = (world.objects?.get(world.resource.name) ?? []) as readonly Representation[]
  const lookUp = factsOf(world).lookup
  const rows = objects.filter((one) => meets(decision.where, one, lookUp))
  const shown = decision.rowFields()
  const fieldsOf = (row: Representation) => {
    if (shown.kind === 'alike') return shown.fields
    return shown.of(
      row,
      decision.marks.map((mark) => meets(mark, row, lookUp)),
    )
  }
  const cut = (row: Representation) =>
    Object.keys(row)
      .filter((field) => fieldsOf(row).has(field))
      .toSorted()
  return {
    status: 200,
    ids: rows.map(({ id }) => String(id)).toSorted(),
    rows: Object.fromEntries(rows.map((row) => [String(row.id), cut(row)])),
    queryable: [...decision.queryable.keys()].toSorted(),
  }
}

async function create(world: World, decision: CreateDecision, { body = {} }: OracleRequest): Promise<Answer> {
  const resource = LANGUAGE_RESOURCES.byName.get(world.resource.name)
  if (!resource) throw new Error('there is no such resource')
  const proposal = proposeNew(resource, body, { id: 'new', filled: decision.filled, now: '2026-01-01T00:00:00.000Z' })
  const permit = await withFacts(decision.permit(proposal), factsOf(world) as FactSource)
  if (isRefusal(permit)) return refused(world, permit)
  const { object, after } = written(world, permit, proposal.after)
  const shown = await withFacts(decision.show(object), after)
  return { status: 201, shows: sorted(shown ?? {}), object: represent(object) }
}

async function update(
  world: World,
  decision: UpdateDecision,
  { operation, body = {} }: OracleRequest,
): Promise<Answer> {
  const resource = LANGUAGE_RESOURCES.byName.get(world.resource.name)
  if (!resource) throw new Error('there is no such resource')
  const before = represent(decision.object)
  const { writable, readable, filled } = decision
  const proposal =
    operation === 'replace'
      ? proposeReplacement(resource, body, { before, writable, readable, filled })
      : proposeUpdate(resource, body, before)
  const permit = await withFacts(decision.permit(proposal), factsOf(world) as FactSource)
  if (isRefusal(permit)) return refused(world, permit)
  const { object, after } = written(world, permit, proposal.after)
  const shown = await withFacts(decision.show(object), after)
  return { status: shown ? 200 : 204, shows: sorted(shown ?? {}), object: represent(object) }
}

/** The object that a permit writes, and the facts after the write. */
function written(
  world: World,
  { id, document }: Pick<Permit<'create' | 'update'>, 'id' | 'document'>,
  { createdAt = '', updatedAt = '' }: Representation,
): { readonly object: StoredObject; readonly after: FactSource } {
  const object = storedOf({ ...document, id, createdAt, updatedAt } as Plain)
  const { name } = world.resource
  const others = (world.objects?.get(name) ?? []).filter((one) => one.id !== id)
  const objects = new Map(world.objects).set(name, [...others, represent(object) as Plain])
  return { object, after: factsOf({ ...world, objects }) as FactSource }
}

function sorted(shown: Representation): readonly string[] {
  return Object.keys(shown).toSorted()
}
