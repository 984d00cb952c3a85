/** A Cerbos of the npm package, on free ports, with the policies of a folder. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NAME = '@cerbos/cerbos-linux-x64'

export interface Cerbos {
  readonly url: string
  readonly version: string
  stop(): Promise<void>
}

export async function startCerbos(): Promise<Cerbos> {
  const require = createRequire(import.meta.url)
  const { version } = require(`${NAME}/package.json`) as { readonly version: string }
  const program = join(fileURLToPath(new URL('.', import.meta.url)), 'node_modules', NAME, 'cerbos-linux-x64')
  const folder = await mkdtemp(join(tmpdir(), 'interop-'))
  const port = await freePort()
  const config = {
    server: { httpListenAddr: `127.0.0.1:${port}`, grpcListenAddr: `127.0.0.1:${await freePort()}` },
    storage: { driver: 'disk', disk: { directory: fileURLToPath(new URL('policies', import.meta.url)) } },
    telemetry: { disabled: true },
  }
  // YAML reads JSON.
  await writeFile(join(folder, 'cerbos.yaml'), JSON.stringify(config))
  const child = spawn(program, ['server', '--config', join(folder, 'cerbos.yaml')], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  await untilItAnswers(`${url}/_cerbos/health`)
  return {
    url,
    version,
    stop: async () => {
      child.kill()
      if (child.exitCode === null) await once(child, 'exit')
      await rm(folder, { recursive: true })
    },
  }
}

async function untilItAnswers(url: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((next) => setTimeout(next, 50))
  }
  throw new Error(`\`${url}\` doesn't answer`)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
