/** Judges changes in this thread, for commands. What it takes is loaded for the first change. */
import type { JudgeChange } from '../../policy/published/version-chain.ts'
import type { Resources } from '../../resources/resource.ts'

/** `schemas`: the folder of the schema files. */
export function judgeHere(schemas: string): JudgeChange {
  let loaded: Promise<Resources> | undefined
  return async (change) => {
    const { judgeApproved } = await import('./judge.ts')
    const { loadResources } = await import('../../resources/load/load-resources.ts')
    loaded ??= loadResources(schemas)
    return judgeApproved(change, await loaded)
  }
}
