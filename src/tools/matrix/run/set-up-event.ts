/**
 * Sets up a cell about events: the caller, an object that something will happen to, and another object that the caller
 * must be told of afterwards, so that silence is proven by an event and not by waiting. All that relations rest on is
 * there before the caller follows.
 */

import { isObject } from '../../../base/is-object.ts'
import { proposeUpdate } from '../../../decide/permits/propose.ts'
import type { Representation } from '../../../resources/resource.ts'
import { NAMED_BY_OTHERS, namesObject } from '../fixture/list-fixture.ts'
import type { Cell } from '../predict/cell-fixture.ts'
import { predictCell } from '../predict/predict-cell.ts'
import { predictedSuite, type Suite } from '../predict/suite.ts'
import type { Happening } from '../read/expectation.ts'
import { stateOf } from '../read/expectation.ts'
import { CannotSetUp, orCannotSetUp } from '../target/test-target.ts'
import type { CellOnTarget } from './bind.ts'
import { fixtureFor, isAsWanted, makeObject, makeResult, placeOthers, type SetUpInput, withNewIds } from './set-up.ts'
import { makeCaller, type NamedCaller, planSetup } from './set-up-caller.ts'

/** Makes it happen; returns the object, as the target stored it last. */
type MakeHappen = () => Promise<Representation>

export interface EventSetup {
  readonly caller: NamedCaller | undefined
  readonly happen: MakeHappen
  /** Prepares another object that the caller is then told of. Throws CannotSetUp. */
  prepareMarker(): Promise<MakeHappen>
}

/** Throws CannotSetUp. */
export async function setUpEvent(cell: CellOnTarget): Promise<EventSetup> {
  const { event = 'created' } = cell.bound.expectation
  const plan = planSetup(cell)
  const [way = new Set<string>(), ...others] = plan.ways
  const about = { ...cell, ...(await makeCaller(cell, plan)), relations: way }
  return {
    caller: about.caller,
    happen: await prepare(about, event),
    async prepareMarker() {
      let failure = new CannotSetUp(NO_MARKER)
      for await (const { relations, by } of markersAmong(cell, [...others, way])) {
        const prepared = await prepare({ ...about, record: undefined, relations }, by).catch(orCannotSetUp)
        if (!(prepared instanceof CannotSetUp)) return prepared
        failure = prepared
      }
      throw failure
    },
  }
}

const NO_MARKER = 'no other object could be made that this caller is told of, so nothing proves what else it is told'

async function prepare(about: SetUpInput, event: Happening): Promise<MakeHappen> {
  const { target, bound } = about
  const resource = bound.resource.name
  if (event === 'created') return prepareNew(about)
  const stored = await makeObject(about)
  const { object } = stored
  if (event === 'deleted')
    return async () => {
      await target.remove({ resource, object })
      return object
    }
  const { becomes } = bound.expectation
  const result = becomes && (await makeResult(about, becomes, stored))
  const body = result ? result.body : bound.body
  if (!isObject(body)) throw new CannotSetUp('the body file is no object with the fields that change')
  const { after } = proposeUpdate(bound.resource, body as Representation, object)
  return async () => {
    await target.change({ resource, object }, after)
    return { ...object, ...after }
  }
}

/** All but the object itself is placed now. */
async function prepareNew(about: SetUpInput): Promise<MakeHappen> {
  const { target, bound, caller, relations } = about
  const { name } = bound.resource
  const [stranger = ''] = target.strangers(caller)
  const found = fixtureFor(about, stranger, target.now())
  if (found?.kind !== 'object')
    throw new CannotSetUp(found?.why ?? 'only the record of the caller has these relations, and it is there already')
  if (found.others.some(({ object }) => namesObject(object, String(found.object.id))))
    throw new CannotSetUp(NAMED_BY_OTHERS)
  const { placed: others, ids } = await placeOthers(about, found.others)
  const object = withNewIds(found.object, ids)
  const owner = relations.has('owner') ? caller?.id : stranger
  return async () => {
    const stored = await target.put({ resource: name, object }, owner)
    if (isAsWanted(about, { object: stored, others }, target.now())) return stored
    throw new CannotSetUp(`the object of ${name} that was created has other relations to the caller than the cell says`)
  }
}

interface Marker {
  readonly relations: ReadonlySet<string>
  readonly by: 'created' | 'deleted'
}

const predictors = new WeakMap<Suite, ReturnType<typeof predictedSuite>>()

/** The ways in which the policy files let the caller be told of an object, and nothing but this object. */
async function* markersAmong(
  { suite, bound }: CellOnTarget,
  ways: readonly ReadonlySet<string>[],
): AsyncGenerator<Marker, undefined> {
  const { predictor, evaluated } = predictors.getOrInsertComputed(suite, () => predictedSuite(suite, Date.now()))
  const { method, path, column, when } = bound.expectation
  const asked = { method, path, column, ...(when && { when }) }
  const wordOf = async (cell: Cell) => {
    const prediction = await predictCell(predictor, evaluated, cell)
    return prediction.kind === 'answer' ? prediction.answer.told?.word : undefined
  }
  for (const relations of ways) {
    const becomes = [...relations].sort()
    const created = { ...asked, object: { kind: 'none' }, event: 'created', becomes } as const
    if ((await wordOf(created)) === 'appeared') yield { relations, by: 'created' }
    const deleted = { ...asked, object: stateOf(relations), event: 'deleted' } as const
    if ((await wordOf(deleted)) === 'gone') yield { relations, by: 'deleted' }
  }
  return undefined
}
