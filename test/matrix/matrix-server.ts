/** A throw-away server for cells, with the policy and the schemas that it runs. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadPolicy } from '../../src/tools/load-policy.ts'
import { sampleResources } from '../../src/tools/matrix/fixture/samples.ts'
import type { Suite } from '../../src/tools/matrix/predict/suite.ts'
import type { Expectation } from '../../src/tools/matrix/read/expectation.ts'
import { readBodies } from '../../src/tools/matrix/read/read-matrices.ts'
import type { TargetPool, TestTarget } from '../../src/tools/matrix/target/test-target.ts'
import { createTrialTarget } from '../../src/tools/matrix/target/trial-target.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../server.ts'

export interface MatrixServer {
  readonly suite: Suite
  readonly target: TestTarget
  /** The same target for all cells. */
  readonly lend: TargetPool['lend']
  readonly server: TestServer
  stop(): Promise<void>
}

export async function startMatrixServer(
  cells: readonly Expectation[],
  options: TestServerOptions = {},
): Promise<MatrixServer> {
  const server = await startTestServer(options)
  // It has a matrix to tell of, for cells about those who may ask.
  await mkdir(join(server.folder, 'test/matrix'), { recursive: true })
  await writeFile(join(server.folder, 'test/matrix/live.csv'), 'method,path,object,anonymous\nGET,/livez,none,200\n')
  const { resources, seeding } = server.app
  const { policy, files } = await loadPolicy(join(server.folder, 'policies'), resources)
  const folders = { policies: 'policies', schemas: 'schemas' }
  const suite = {
    folders,
    policy,
    files,
    resources,
    samples: sampleResources(resources),
    bodies: await readBodies(cells),
  }
  const token = (subject: string, roles: readonly string[]) => server.token(subject, ...roles)
  const target = createTrialTarget({ url: server.url, seeding, token })
  const lend = async () => ({ target, release: async () => {} })
  return { suite, target, lend, server, stop: () => server.stop() }
}
