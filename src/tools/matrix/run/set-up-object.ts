/** An object with exactly the relations to the caller that a cell states; created, then checked. */

import { v7 as uuidv7 } from 'uuid'
import { comparedFields, needsCaller } from '../../../decide/relations/all-kinds.ts'
import { relationsOf } from '../../../decide/relations/ownership.ts'
import { askingAs } from '../../../decide/relations/relation-kind.ts'
import type { Representation } from '../../../resources/resource.ts'
import { arrangeObject, isRelatedSo, type ObjectFound, relationText } from '../arrange/arrange-object.ts'
import { withUniqueValues } from '../arrange/unique-values.ts'
import type { Suite } from '../predict/suite.ts'
import { CannotSetUp, type TestTarget } from '../target/test-target.ts'
import type { Bound } from './bind.ts'
import type { Named } from './set-up-caller.ts'

interface Wanted {
  readonly bound: Bound
  readonly caller: Named | undefined
  /** The object whose id is the caller's. */
  readonly record: Representation | undefined
  /** All relations that hold. */
  readonly relations: ReadonlySet<string>
}

/** Throws CannotSetUp. */
export async function makeObject(suite: Suite, target: TestTarget, wanted: Wanted): Promise<Representation> {
  const { bound, caller, record, relations } = wanted
  if (record && relatesSo(suite, wanted, record)) return record
  const reasons: string[] = []
  for (const stranger of target.strangers(caller)) {
    const found = arranged(suite, wanted, stranger)
    if (found?.kind !== 'object') {
      if (found) reasons.push(found.why)
      continue
    }
    const { object } = found
    const owner = relations.has('owner') ? caller?.id : stranger
    const placed = await target.put({ resource: bound.resource.name, object }, owner).catch((error) => {
      if (!(error instanceof CannotSetUp)) throw error
      reasons.push(error.message)
      return undefined
    })
    if (placed && relatesSo(suite, wanted, placed)) return placed
  }
  const failure = `no object of ${bound.resource.name} could be made ${relationText(relations)}`
  throw new CannotSetUp(reasons[0] ?? failure)
}

/** Whether the caller is its owner. */
export function isOwnObject(
  suite: Suite,
  { resource }: Bound,
  caller: Named | undefined,
  object: Representation,
): boolean {
  const ownership = suite.policy.ownership.get(resource.name)
  return relationsOf(ownership, askingAs(caller?.attributes ?? {}, Date.now()), object).includes('owner')
}

/** Undefined if only the caller's own record can have these relations. */
function arranged({ policy, samples }: Suite, wanted: Wanted, somebody: string): ObjectFound | undefined {
  const { bound, caller, relations } = wanted
  const { resource } = bound
  const known = samples.get(resource.name)
  const ownership = policy.ownership.get(resource.name)
  const held = [...(ownership?.relations.values() ?? [])].filter(({ name }) => relations.has(name))
  if (!known || held.some((relation) => needsCaller(relation) && comparedFields(relation).includes('id')))
    return undefined
  const attributes = caller?.attributes ?? {}
  const common = { resource, samples: known, ownership, relations, attributes, now: Date.now() }
  const found = arrangeObject({ ...common, id: uuidv7(), somebody })
  if (found.kind !== 'object') return found
  const kept = new Set(held.flatMap(comparedFields))
  return { ...found, object: withUniqueValues(resource, found.object, kept) }
}

function relatesSo({ policy }: Suite, { bound, caller, relations }: Wanted, object: Representation): boolean {
  const ownership = policy.ownership.get(bound.resource.name)
  return isRelatedSo({ ownership, attributes: caller?.attributes ?? {}, relations }, object)
}
