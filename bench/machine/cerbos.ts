/** Cerbos of the npm package, as a server under measurement: refused unless it allows and denies what it must. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFailure } from '../failure.ts'
import { peerFile } from './peer-packages.ts'
import { freePort, type Running, start } from './processes.ts'

const PROGRAM = peerFile('node_modules/@cerbos/cerbos-linux-x64/cerbos-linux-x64')

const START_MS = 60_000

export interface CerbosOptions {
  /** New; has `policies`. */
  readonly folder: string
  /** The most questions in one request. */
  readonly batch: number
}

export interface Cerbos extends Running {
  readonly base: string
  readonly firstAnswerMs: number
}

/** Throws BenchFailure. */
export async function startCerbos({ folder, batch }: CerbosOptions): Promise<Cerbos> {
  const began = performance.now()
  const port = await freePort()
  const config = join(folder, 'cerbos.yaml')
  await writeFile(config, JSON.stringify(configFor(folder, port, await freePort(), batch)))
  const running = start([PROGRAM, 'server', '--config', config, '--log-level', 'error'], { cpu: 'server' })
  const base = `http://127.0.0.1:${port}`
  while (!(await isServing(base))) {
    if (performance.now() - began > START_MS || running.exitCode() !== undefined) {
      const complaint = running.complaint()
      await running.stop()
      throw new BenchFailure(`Cerbos doesn't answer: ${complaint}`)
    }
    await sleep(10)
  }
  return { ...running, base, firstAnswerMs: performance.now() - began }
}

async function isServing(base: string): Promise<boolean> {
  const answer = await fetch(`${base}/_cerbos/health`).catch(() => undefined)
  await answer?.arrayBuffer()
  return answer?.ok ?? false
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
