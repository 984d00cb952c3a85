/** Which fields refer to the objects of a resource (`x-reference`). */
import type { FieldReference, Resource, Resources } from './resource.ts'

export interface ReferringField extends FieldReference {
  /** Whose objects refer. */
  readonly resource: Resource
}

const REFERRING = new WeakMap<Resources, ReadonlyMap<string, readonly ReferringField[]>>()

/** Those of all resources that refer to objects of this one. */
export function referringTo(resources: Resources, name: string): readonly ReferringField[] {
  const byTarget = REFERRING.getOrInsertComputed(resources, ({ byName }) => {
    const all = [...byName.values()].flatMap((resource) =>
      (resource.references ?? []).map((one) => ({ ...one, resource })),
    )
    return Map.groupBy(all, ({ reference }) => reference.resource)
  })
  return byTarget.get(name) ?? []
}
