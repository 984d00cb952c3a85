/**
 * What a caller can do with objects of a resource (`?can=true`), by the gate's own checks: for each object as it is
 * stored, and for the collection as far as it is known without an object. What a write leaves is decided when it comes.
 */

import type { StoredObject } from '../../resources/object.ts'
import { represent } from '../../resources/object.ts'
import type { Endpoint, Representation, Route } from '../../resources/resource.ts'
import type { Condition } from '../conditions/condition.ts'
import { checkObject, passRoleLevel, type Question, sightOf } from '../decide.ts'
import { askingOnce, type FactNeed, type Steps } from '../facts.ts'
import { comparedFields, kindOf } from '../relations/all-kinds.ts'
import { relate } from '../relations/ownership.ts'
import type { Relation } from '../relations/relation-kind.ts'
import type { Snapshot } from '../snapshot.ts'
import { type CallerGrants, grantOn } from './caller-grants.ts'
import { relationsOfRow } from './list-decision.ts'
import { Sight } from './sight.ts'

/** The actions, in the order of the resource's actions, and the fields that the caller may write, in the schema's order. */
export interface Can {
  readonly actions: readonly string[]
  readonly fields: readonly string[]
}

/** A method of a route that the caller may use on some object. */
interface UsableMethod {
  readonly route: Route
  readonly endpoint: Endpoint
  readonly grants: CallerGrants
}

const NOTHING: Can = { actions: [], fields: [] }

/** `question`: the request's; the abilities are of its caller, at its time, on its resource. */
export function* abilitiesOf(question: Question, policy: Snapshot): Steps<Abilities> {
  const ways: UsableMethod[] = []
  const records = new Map<string, unknown>()
  for (const { route, endpoint } of endpointsOf(question)) {
    const grants = yield* askingOnce(passRoleLevel({ ...question, route, endpoint }, policy), records)
    if (grants.kind !== 'grants') continue
    if (endpoint.operation === 'watch') {
      const seen = yield* askingOnce(sightOf({ ...question, route, endpoint }, grants, policy), records)
      if (!(seen instanceof Sight)) continue
    }
    ways.push({ route, endpoint, grants })
  }
  return new Abilities(question, ways)
}

/** Each way to use the resource once; aliases of a path are alike, and a route past its sunset serves nothing. */
function endpointsOf({ resource, now }: Question): Iterable<Omit<UsableMethod, 'grants'>> {
  const serving = resource.routes.filter(
    ({ redirect, lifecycle }) => !redirect && (lifecycle?.sunsetAt ?? Infinity) > now,
  )
  const all = serving.flatMap((route) => [...route.endpoints.values()].map((endpoint) => ({ route, endpoint })))
  const asked = all.filter(({ endpoint }) => endpoint.operation !== 'options')
  return new Map(asked.toReversed().map((one) => [keyOf(one), one])).values()
}

function keyOf({ route, endpoint: { action, operation } }: Omit<UsableMethod, 'grants'>): string {
  // Only a read is refused where the view shows nothing.
  return JSON.stringify([route.kind, action, operation, operation === 'read' ? route.view : undefined])
}

export class Abilities {
  readonly #question: Question
  readonly #ways: readonly UsableMethod[]
  readonly #asking: CallerGrants['asking']
  /** The relations that rules of these ways name. */
  readonly #compared: readonly Relation[]
  /** Of these, and of their parts, those that rest on other objects. */
  readonly #steps: readonly Relation[]
  readonly #fields: ReadonlySet<string>
  readonly #known = new Map<string, Can>()

  constructor(question: Question, ways: readonly UsableMethod[]) {
    const tables = ways.map(({ grants }) => grants.table)
    // Where some rule compares attributes, this way has read them; the others' rules compare none.
    const informed = ways.find(({ grants }) => grants.attributes.length > 0) ?? ways[0]
    this.#question = question
    this.#ways = ways
    this.#asking = informed?.grants.asking ?? { valuesOf: () => [], now: question.now }
    this.#compared = [...new Set(tables.flatMap(({ compared }) => compared))]
    this.#steps = [...new Set(tables.flatMap(({ steps }) => steps))]
    this.#fields = new Set(this.#compared.flatMap(comparedFields))
  }

  /** What the collection's routes offer, as far as it is known without an object: the role level. */
  get collection(): Can {
    const ways = this.#ways.filter(({ route }) => route.kind === 'collection')
    const create = ways.find(({ endpoint }) => endpoint.action === 'create')
    return this.#abilities(ways, create?.grants.roleLevel.grantable)
  }

  /** Looks up the relations of the object that rest on other objects, each once. */
  *of(object: StoredObject): Steps<Can, FactNeed> {
    const { resource, subject } = this.#question
    const ownership = this.#ways.find(({ grants }) => grants.resource === resource)?.grants.ownership
    const relating = { ownership, asking: this.#asking, steps: this.#steps }
    const { names } = yield* relate(relating, represent(object))
    return this.#on(names, object.id === subject.caller?.id)
  }

  /** The fields of a row that `ofRow` looks at. */
  get rowFields(): ReadonlySet<string> {
    return this.#fields
  }

  /** What the store must compute for each row of a list: the conditions that rest on other objects. */
  get marks(): readonly Condition[] {
    return this.#steps.map((relation) => kindOf(relation).condition(relation, this.#asking))
  }

  /** `marks`: whether each of them holds for the row. */
  ofRow(id: string, row: Representation, marks: readonly boolean[]): Can {
    const by = { compared: this.#compared, steps: this.#steps, asking: this.#asking }
    return this.#on(relationsOfRow(by, row, marks), id === this.#question.subject.caller?.id)
  }

  /** `isOwn`: the object is the caller's own record, which other routes may serve too. */
  #on(relations: readonly string[], isOwn: boolean): Can {
    const key = JSON.stringify([isOwn, relations])
    const known = this.#known.get(key)
    if (known) return known
    const ways = this.#ways.filter(
      ({ route: { kind }, endpoint, grants }) =>
        (kind === 'item' || (kind === 'caller' && isOwn)) && !checkObject(grants, endpoint.operation, relations),
    )
    const write = ways.find(({ endpoint }) => endpoint.action === this.#writing)
    const can = this.#abilities(ways, write && grantOn(write.grants, relations).fields)
    this.#known.set(key, can)
    return can
  }

  /** The action that `fields` is about. */
  get #writing(): string {
    const { routes } = this.#question.resource
    const updates = routes.some(({ endpoints }) => endpoints.get('PATCH')?.action === 'update')
    return updates ? 'update' : 'replace'
  }

  #abilities(ways: readonly UsableMethod[], writable: ReadonlySet<string> | undefined): Can {
    if (ways.length === 0) return NOTHING
    const { actions, fields } = this.#question.resource
    const allowed = new Set(ways.map(({ endpoint }) => endpoint.action))
    return {
      actions: [...actions.keys()].filter((action) => allowed.has(action)),
      fields: [...fields.values()].flatMap(({ name, readOnly }) => (!readOnly && writable?.has(name) ? [name] : [])),
    }
  }
}
