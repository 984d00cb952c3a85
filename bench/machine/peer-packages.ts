/** The packages of the peers: they are in `bench/peers/`, which `npm ci` of the project doesn't set up. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const FOLDER = new URL('../peers/', import.meta.url).pathname

const SET_UP = 'run `npm ci --prefix bench/peers`'

/** Undefined when every package is there, in the version that `package.json` names; else what is wrong and what to do. */
export function faultOfPeers(folder = FOLDER): string | undefined {
  for (const [name, version] of Object.entries(peerVersions(folder))) {
    const file = join(folder, 'node_modules', name, 'package.json')
    if (!existsSync(file)) return `the peers, because the package \`${name}\` isn't installed: ${SET_UP}`
    const installed: { readonly version: string } = JSON.parse(readFileSync(file, 'utf8'))
    if (installed.version !== version) {
      return `the peers, because \`${name}\` is ${installed.version} and not ${version}: ${SET_UP}`
    }
  }
  return undefined
}

/** Package -> its exact version. */
export function peerVersions(folder = FOLDER): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies
}

/** The path of one of the peers' own files. */
export function peerFile(name: string): string {
  return join(FOLDER, name)
}

/** What a package of the peers exports. */
export function loadPeerPackage(name: string): Promise<unknown> {
  const require = createRequire(join(FOLDER, 'package.json'))
  return import(pathToFileURL(require.resolve(name)).href)
}
