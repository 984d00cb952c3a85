/** The body of a write that leaves an object with the relations that a cell states, and the objects that these need. */
import { v7 as uuidv7 } from 'uuid'
import { comparedFields } from '../../../decide/relations/all-kinds.ts'
import type { Representation } from '../../../resources/resource.ts'
import { arrangeCreated, arrangeResult } from '../arrange/arrange-result.ts'
import { withUniqueValues } from '../arrange/values/unique-values.ts'
import { leavesIn, type PlacedObject } from '../arrange/wanted-object.ts'
import type { Suite } from '../predict/suite.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'
import type { BoundExpectation } from './bind.ts'
import { placeObjects, withNewIds } from './place-objects.ts'
import { relatingIn } from './plan-setup.ts'
import type { Named } from './set-up-caller.ts'
import { type MadeObject, toPlace } from './set-up-object.ts'

interface Before {
  readonly caller: Named | undefined
  /** Undefined for a new object. */
  readonly stored: MadeObject | undefined
  /** The objects that were made with the caller. */
  readonly known: readonly PlacedObject[]
}

interface MadeResult {
  readonly body: Representation
  readonly others: readonly PlacedObject[]
}

/** `becomes`: all relations of the result. Throws CannotSetUp. */
export async function makeResult(
  suite: Suite,
  target: TestTarget,
  bound: BoundExpectation,
  { becomes, caller, stored, known }: Before & { readonly becomes: readonly string[] },
): Promise<MadeResult> {
  const common = relatingIn(suite, bound, target.now())
  if (!common) throw new CannotSetUp(`${bound.resource.name} has no objects`)
  const { object, method } = bound.expectation
  const [somebody = uuidv7()] = target.strangers(caller)
  const asked = { ...common, callerId: caller?.id, somebody, own: bound.route.kind === 'caller' }
  const after = new Set(becomes)
  const before = new Set(object.kind === 'relations' ? object.names : [])
  const found = stored
    ? arrangeResult(
        { ...asked, relations: before, id: String(stored.object.id) },
        { attributes: caller?.attributes ?? {}, object: stored.object, others: [...known, ...stored.others] },
        { becomes: after, method },
      )
    : arrangeCreated({ ...asked, relations: after, id: uuidv7() })
  if (found.kind !== 'result') throw new CannotSetUp(found.why)
  const looked = new Set(leavesIn(common.ownership).flatMap(comparedFields))
  const sent = stored ? found.body : withUniqueValues(bound.resource, found.body, looked)
  const { placed, ids } = await placeObjects(
    target,
    found.others.map((one) => toPlace(suite, one)),
  )
  return { body: withNewIds(sent, ids), others: placed }
}
