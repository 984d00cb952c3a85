/** The files that a run needs: policies, schemas, matrices and their bodies. */
import { loadSchemas } from '../../../resources/load/load-resources.ts'
import { loadPolicy } from '../../load-policy.ts'
import { sampleResources } from '../predict/samples.ts'
import { readBodies } from '../read/bodies.ts'
import type { Expectation } from '../read/expectation.ts'
import type { Folders, Ground } from './bind.ts'

/** Throws FileError for files that the server would refuse, and ReviewError where there is no policy. */
export async function loadGround({ policies, schemas }: Folders, cells: readonly Expectation[]): Promise<Ground> {
  const { resources, sources } = await loadSchemas(schemas)
  const { policy } = await loadPolicy(policies, resources)
  const folders = { policies, schemas }
  return { folders, policy, resources, samples: sampleResources(sources, resources), bodies: await readBodies(cells) }
}
