/** Plans the setup of a cell from the files alone: the caller's attributes, and how objects relate to the caller. */

import { v7 as uuidv7 } from 'uuid'
import { needsCaller } from '../../../decide/relations/all-kinds.ts'
import { arrangeList, type ListArranged, toldApartBy } from '../arrange/arrange-list.ts'
import { arrangeRelated } from '../arrange/arrange-related.ts'
import { arrangeCreated } from '../arrange/arrange-result.ts'
import { lackingValue } from '../arrange/values/samples.ts'
import type { Attributes } from '../arrange/wanted-object.ts'
import { isOwn, type WantedPair } from '../arrange/wanted-object.ts'
import { type Common, relatingOf } from '../predict/arrange-world.ts'
import type { Suite } from '../predict/suite.ts'
import { relationsIn } from '../read/listed-rows.ts'
import { CannotSetUp } from '../target/test-target.ts'
import type { BoundExpectation } from './bind.ts'
import { nearestObject } from './nearest-object.ts'

export interface SetupPlan {
  readonly attributes: Attributes
  /** One object each. */
  readonly ways: readonly ReadonlySet<string>[]
  /** The way whose object has the caller's id. */
  readonly own: ReadonlySet<string> | undefined
}

const NOTHING: SetupPlan = { attributes: {}, ways: [], own: undefined }

/** `now`: the time of the request, in milliseconds since the epoch. Throws CannotSetUp. */
export function planSetup(suite: Suite, bound: BoundExpectation, now: number): SetupPlan {
  const { object, expected } = bound.expectation
  const common = relatingIn(suite, bound, now)
  if (object.kind === 'missing') return NOTHING
  if (!common && object.kind !== 'none') throw new CannotSetUp(`${bound.resource.name} has no objects`)
  if (!common) return NOTHING
  if (object.kind !== 'none') return planObject(common, bound, object.kind === 'relations' ? object.names : [])
  const { becomes } = bound.expectation
  if (becomes) return planCreated(common, becomes)
  if (bound.endpoint?.operation !== 'list') return NOTHING
  const list = listOf(common, apartIn(suite, bound))
  if ((expected.list ?? expected.view) !== undefined) return planList(common, list)
  // A caller who lacks an attribute may not be allowed to list at all.
  return { ...NOTHING, attributes: list.attributes }
}

/** The data to relate the cell's caller to objects of its resource; undefined for a resource without objects. */
export function relatingIn(
  suite: Suite,
  { resource, expectation: { column } }: BoundExpectation,
  now: number,
): Common | undefined {
  return relatingOf({ ...suite, now, newId: uuidv7 }, { policy: suite.policy, resource, column })
}

function planObject(common: Common, { route }: BoundExpectation, names: readonly string[]): SetupPlan {
  const pair: WantedPair = { ...common, relations: new Set(names), own: route.kind === 'caller', id: uuidv7() }
  const ofCaller = names.flatMap((name) => common.ownership?.relations.get(name) ?? []).some(needsCaller)
  if (common.callerId === undefined && (ofCaller || pair.own)) {
    throw new CannotSetUp('a caller without credentials has no object of their own: write `-`')
  }
  const found = arrangeRelated(pair)
  if (found.kind !== 'related') throw new CannotSetUp(lackOf(common) ?? found.why + nearestObject(common, names))
  const own = isOwn(pair) ? pair.relations : undefined
  return { attributes: found.attributes, ways: [pair.relations], own }
}

function planCreated(common: Common, becomes: readonly string[]): SetupPlan {
  const found = arrangeCreated({ ...common, relations: new Set(becomes), own: false, id: uuidv7() })
  if (found.kind !== 'result') throw new CannotSetUp(lackOf(common) ?? found.why + nearestObject(common, becomes))
  return { ...NOTHING, attributes: found.attributes }
}

function planList(common: Common, { attributes, placed }: ListArranged): SetupPlan {
  const ways = placed.map(({ relations }) => relations)
  if (ways.length === 0) throw new CannotSetUp(lackOf(common) ?? `no object of ${common.resource.name} can be made`)
  return { attributes, ways, own: ways.find((relations) => isOwn({ ...common, relations, own: false })) }
}

function listOf(common: Common, apart: readonly string[]): ListArranged {
  return arrangeList(common, apart, () => uuidv7())
}

/** The relations that decide which objects are listed: by the rules, and by the cell. */
function apartIn({ policy }: Suite, { resource, endpoint, expectation: { expected } }: BoundExpectation) {
  const action = endpoint && resource.actions.get(endpoint.action)
  return [...(action ? toldApartBy(policy, { resource, action }) : []), ...relationsIn(expected.list)]
}

/** Reports a cause that the author can fix before its consequences. */
function lackOf({ resource, samples }: Common): string | undefined {
  return lackingValue(resource.name, samples)
}
