/** What a write changes, and the fields that it has to write for that. */
import { heldAsMade } from '../../../analysis/possible-sets.ts'
import { EVERYWHERE, type Region } from '../../../analysis/regions.ts'
import { USERS } from '../../../decide/policy.ts'
import { comparedFields } from '../../../decide/relations/all-kinds.ts'
import type { WriteSpace } from './write-space.ts'

/** Says where a field may be written. */
type RegionOfField = (field: string) => Region

/** Something about the written object, or about the caller whose record it is, and the fields that decide it. */
interface Changeable {
  readonly fields: readonly string[]
  /** Where the write changes it, which needs one of the fields. */
  readonly changed: Region
}

/** Where the write changes only what it may. */
export function changedWithin(space: WriteSpace, where: RegionOfField): Region {
  const { regions, around } = space
  if (around.operation === 'delete') return EVERYWHERE
  return regions.all(
    changeable(space).map(({ fields, changed }) =>
      regions.either(regions.not(changed), regions.any(fields.map(where))),
    ),
  )
}

/** Where the write changes something that relations rest on, in one of these fields. */
export function changedIn(space: WriteSpace, where: RegionOfField): Region {
  const { regions } = space
  return regions.any(
    changeable(space).map(({ fields, changed }) => regions.both(changed, regions.any(fields.map(where)))),
  )
}

function changeable(space: WriteSpace): readonly Changeable[] {
  const { regions } = space
  const { written } = space.around
  const leaves = written.space.leaves.map((leaf) => ({
    fields: comparedFields(leaf),
    changed: regions.differ(space.ofItself(leaf, 'old'), space.ofItself(leaf, 'proposed')),
  }))
  const pointers = pointersOf(space).map(({ field, at }) => ({
    fields: [field],
    changed: regions.differ(at('old'), at('proposed')),
  }))
  const attributes = written.resource.name === USERS ? space.attributes : []
  const ofCaller = attributes.map((name) => ({ fields: [name], changed: space.changedAttribute(name) }))
  return [...leaves, ...pointers, ...ofCaller].filter(({ fields }) => !fields.includes('updatedAt'))
}

/** The fields of the written object that can have the id of another one, and where they have it. */
function pointersOf(space: WriteSpace) {
  const { written } = space.around
  return [...written.resource.fields.keys()].flatMap((field) =>
    space.targetsOf(written, field).map((target) => ({
      field,
      at: (moment: 'old' | 'proposed') => space.points(written, field, target, moment),
    })),
  )
}

/** Where a new object has only what its creator may give it, what it is filled with, and its defaults. */
export function createdWithin(space: WriteSpace, where: RegionOfField, filled: ReadonlyMap<string, string>): Region {
  const { regions } = space
  const { resource, space: own } = space.around.written
  const leaves = own.leaves.map((leaf) => {
    const [name = ''] = comparedFields(leaf)
    const held = space.ofItself(leaf, 'proposed')
    // Nothing leads to an object that isn't there yet, and nobody has its id.
    if (name === 'id') return regions.not(held)
    const isHeld = heldAsMade(leaf, resource.fields.get(name), filled.get(name))
    return isHeld === undefined ? EVERYWHERE : regions.either(where(name), isHeld ? held : regions.not(held))
  })
  const pointers = pointersOf(space).map(({ field, at }) =>
    filled.has(field) ? EVERYWHERE : regions.either(where(field), regions.not(at('proposed'))),
  )
  return regions.all([...leaves, ...pointers])
}
