/**
 * An npm registry on this machine. It has the packed packages, and names every other package in the one version that
 * this repository's lock has. npm takes the files of those from its cache, which `npm ci` filled: there is no network.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'

const ROOT = new URL('../..', import.meta.url).pathname

export interface Registry {
  readonly url: string
  stop(): Promise<void>
}

interface Locked {
  readonly version: string
  readonly integrity?: string
  readonly link?: boolean
}

interface Manifest {
  readonly name: string
  readonly version: string
}

type Versions = Record<string, object>

/** `packed`: the tarballs that it has, each with the folder that it was made of. */
export async function startRegistry(packed: ReadonlyMap<string, string>): Promise<Registry> {
  const packages = new Map<string, Versions>()
  const add = ({ name, version }: Manifest, manifest: object) => {
    packages.set(name, { ...packages.get(name), [version]: { ...manifest, name, version } })
  }
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent((request.url ?? '').slice(1))
    const tarball = [...packed.keys()].find((one) => basename(one) === path)
    if (tarball !== undefined) {
      response.end(await readFile(tarball))
      return
    }
    const versions = packages.get(path)
    const latest = Object.keys(versions ?? {}).at(-1)
    response.writeHead(versions ? 200 : 404, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify({ name: path, 'dist-tags': { latest }, versions: versions ?? {} }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const [path, { integrity, link }] of await locked()) {
    if (link || integrity === undefined) continue
    const manifest = await manifestOf(join(ROOT, path)).catch(() => undefined)
    // Packages for other systems aren't installed.
    if (manifest === undefined) continue
    add(manifest, { ...manifest, dist: { integrity, tarball: `${url}/not-in-the-cache` } })
  }
  for (const [tarball, folder] of packed) {
    const manifest = await manifestOf(folder)
    const integrity = `sha512-${createHash('sha512')
      .update(await readFile(tarball))
      .digest('base64')}`
    packages.delete(manifest.name)
    add(manifest, { ...manifest, dist: { integrity, tarball: `${url}/${basename(tarball)}` } })
  }
  return {
    url,
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function locked(): Promise<readonly [string, Locked][]> {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
  return Object.entries<Locked>(packages).filter(([path]) => path.includes('node_modules/'))
}

async function manifestOf(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}
