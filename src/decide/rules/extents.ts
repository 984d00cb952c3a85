/** Extents: what a rule is about, as the fields that it names and the region where it matches. */
import type { Rule } from '../policy.ts'
import { NOWHERE, type Region, type Regions } from '../relations/regions.ts'

export interface Extent {
  /** A bit for each field of the resource. */
  readonly fields: bigint
  readonly region: Region
}

/** A rule with the region where it matches, and the fields that it names. */
export interface PlacedRule extends Extent {
  readonly rule: Rule
}

/** What is left of some extents without another one. */
export function without(regions: Regions, extents: readonly Extent[], gone: Extent): readonly Extent[] {
  return extents.flatMap((extent) => {
    const shared = extent.fields & gone.fields
    const rest = shared === 0n ? extent.region : regions.minus(extent.region, gone.region)
    if (rest === extent.region) return [extent]
    return [
      { fields: extent.fields & ~shared, region: extent.region },
      { fields: shared, region: rest },
    ].filter(({ fields, region }) => fields !== 0n && region !== NOWHERE)
  })
}

export function withoutAll(regions: Regions, extents: readonly Extent[], gone: Iterable<Extent>): readonly Extent[] {
  let left = extents
  for (const one of gone) {
    if (left.length === 0) return left
    left = without(regions, left, one)
  }
  return left
}

/** What two extents share. */
export function shared(regions: Regions, one: Extent, other: Extent): readonly Extent[] {
  const fields = one.fields & other.fields
  const region = fields === 0n ? NOWHERE : regions.both(one.region, other.region)
  return region === NOWHERE ? [] : [{ fields, region }]
}
