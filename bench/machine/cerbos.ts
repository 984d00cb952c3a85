/** Cerbos of the npm package, as a server under measurement: refused unless it allows and denies what it must. */
import { access, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFailure } from '../failure.ts'
import type { Target } from '../fixture/shape.ts'
import { freePort, start } from './processes.ts'
import type { Server } from './server.ts'

const PROGRAM = 'node_modules/@cerbos/cerbos-linux-x64/cerbos-linux-x64'

export interface CerbosOptions {
  /** With the package. */
  readonly interop: string
  /** New; has `policies`. */
  readonly folder: string
  readonly like: Target
  readonly batch: number
}

/** Throws BenchFailure. */
export async function startCerbos({ interop, folder, like, batch }: CerbosOptions): Promise<Server> {
  const program = join(resolve(interop), PROGRAM)
  await access(program).catch(() => {
    throw new BenchFailure(`\`${interop}\` has no Cerbos; run \`npm ci --workspaces=false\` there`)
  })
  const began = performance.now()
  const port = await freePort()
  const config = join(folder, 'cerbos.yaml')
  await writeFile(config, JSON.stringify(configFor(folder, port, await freePort(), batch)))
  const running = start([program, 'server', '--config', config, '--log-level', 'error'], { cpu: 'server' })
  const base = `http://127.0.0.1:${port}`
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${base}/_cerbos/health`).catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer?.ok) break
    if (tries === 1000 || running.exitCode() !== undefined) {
      await running.stop()
      throw new BenchFailure(`Cerbos doesn't answer: ${running.complaint()}`)
    }
    await sleep(10)
  }
  return { ...running, name: 'Cerbos', base, target: like, firstAnswerMs: performance.now() - began }
}

/** With nothing on that can be off: no decision log, no telemetry. */
function configFor(folder: string, port: number, grpcPort: number, batch: number): object {
  return {
    server: {
      httpListenAddr: `127.0.0.1:${port}`,
      grpcListenAddr: `127.0.0.1:${grpcPort}`,
      requestLimits: { maxActionsPerResource: batch, maxResourcesPerRequest: batch },
    },
    storage: { driver: 'disk', disk: { directory: join(folder, 'policies'), watchForChanges: false } },
    telemetry: { disabled: true },
  }
}
