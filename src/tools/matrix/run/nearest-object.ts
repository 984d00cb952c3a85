/** A hint for a row about an object that can't be made: relations that can hold together and include the stated ones. */
import { v7 as uuidv7 } from 'uuid'
import { possibleSets } from '../../../analysis/possible-sets.ts'
import { arrangeRelated } from '../arrange/arrange-related.ts'
import type { Common } from '../predict/arrange-world.ts'

/** Smallest sets first. */
const MOST_TRIED = 16

/** `, but one can be made with open+team`; empty if none was found. */
export function nearestObject(common: Common, names: readonly string[]): string {
  const stated = new Set(names)
  const declared = [...(common.ownership?.relations.values() ?? [])]
  const larger = possibleSets(declared, common.resource).filter(
    (set) => set.size > stated.size && stated.isSubsetOf(set),
  )
  const found = larger.slice(0, MOST_TRIED).find((relations) => {
    return arrangeRelated({ ...common, relations, own: false, id: uuidv7() }).kind === 'related'
  })
  return found ? `, but one can be made with \`${[...found].join('+')}\`` : ''
}
