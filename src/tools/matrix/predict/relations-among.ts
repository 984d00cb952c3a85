/** How the caller of a cell relates to an object, among all objects that were made for the cell. */
import { lookUpIn } from '../../../decide/conditions/condition.ts'
import { NO_FACTS, withFacts } from '../../../decide/facts.ts'
import type { Ownership } from '../../../decide/policy.ts'
import { leavesOf, stepOf } from '../../../decide/relations/all-kinds.ts'
import { relate } from '../../../decide/relations/ownership.ts'
import { askingAs } from '../../../decide/relations/relation-kind.ts'
import type { Representation } from '../../../resources/resource.ts'
import type { Attributes, PlacedObject } from '../arrange/wanted-object.ts'

interface Among {
  readonly ownership: Ownership | undefined
  /** Of the caller, with the id; empty without credentials. */
  readonly attributes: Attributes
  /** The time of the request, in milliseconds since the epoch. */
  readonly now: number
  /** All objects that relations may rest on. */
  readonly world: readonly PlacedObject[]
}

/** The names of the relations that hold. */
export function relationsAmong(
  { ownership, attributes, now, world }: Among,
  object: Representation,
): readonly string[] {
  const steps = [...(ownership?.relations.values() ?? [])].flatMap(leavesOf).filter(stepOf)
  const objectsOf = (resource: string) => world.flatMap((one) => (one.resource === resource ? [one.object] : []))
  const facts = { ...NO_FACTS, lookup: lookUpIn(objectsOf) }
  return withFacts(relate({ ownership, asking: askingAs(attributes, now), steps }, object), facts).names
}
