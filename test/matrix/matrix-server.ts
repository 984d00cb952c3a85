/** A throw-away server for cells, with the policy and the schemas that it runs. */
import { join } from 'node:path'
import { readSchemas } from '../../src/resources/load/read-schemas.ts'
import { loadPolicy } from '../../src/tools/load-policy.ts'
import { sampleResources } from '../../src/tools/matrix/predict/samples.ts'
import { readBodies } from '../../src/tools/matrix/read/bodies.ts'
import type { Expectation } from '../../src/tools/matrix/read/expectation.ts'
import type { Ground } from '../../src/tools/matrix/run/bind.ts'
import type { Stage } from '../../src/tools/matrix/target/server-under-test.ts'
import { createTrialStage } from '../../src/tools/matrix/target/trial-server.ts'
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
