/** A throw-away server for cells, with the policy and the schemas that it runs. */
import { join } from 'node:path'
import type { Ground } from '../../src/matrix/bind.ts'
import type { Expectation } from '../../src/matrix/expectation.ts'
import { sampleResources } from '../../src/matrix/predict/samples.ts'
import { readBodies } from '../../src/matrix/read-bodies.ts'
import type { Stage } from '../../src/matrix/run/stage.ts'
import { createTrialStage } from '../../src/matrix/run/trial-stage.ts'
import { readSchemas } from '../../src/resources/read-schemas.ts'
import { loadPolicy } from '../../src/review/load-policy.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../server.ts'

export interface MatrixServer {
  readonly ground: Ground
  readonly stage: Stage
  readonly server: TestServer
  stop(): Promise<void>
}

export async function startMatrixServer(
  cells: readonly Expectation[],
  options: TestServerOptions = {},
): Promise<MatrixServer> {
  const server = await startTestServer(options)
  const { resources, seeding } = server.app
  const { sources } = await readSchemas(join(server.folder, 'schemas'))
  const { policy } = await loadPolicy(join(server.folder, 'policies'), resources)
  const folders = { policies: 'policies', schemas: 'schemas' }
  const ground = {
    folders,
    policy,
    resources,
    samples: sampleResources(sources, resources),
    bodies: await readBodies(cells),
  }
  const token = (subject: string, roles: readonly string[]) => server.token(subject, ...roles)
  const stage = createTrialStage({ url: server.url, seeding, token })
  return { ground, stage, server, stop: () => server.stop() }
}
