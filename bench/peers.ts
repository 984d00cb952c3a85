/** The peers: servers, engines and limiters of others, in a folder with their packages. bench/README.md says how to get it. */
import { access } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BenchFailure } from './failure.ts'
import type { Target } from './fixture/shape.ts'
import type { Contender } from './machine/server.ts'

/** What its fixture.mjs exports. */
interface Fixture {
  seedDatabase(): void
  target(algorithm?: string): Promise<Omit<Target, 'expect'>>
}

export interface PeerServer {
  readonly name: string
  readonly file: string
  readonly environment: Readonly<Record<string, string>>
  readonly expect: readonly number[]
}

export class Peers {
  readonly folder: string
  readonly #fixture: Fixture

  private constructor(folder: string, fixture: Fixture) {
    this.folder = folder
    this.#fixture = fixture
  }

  /** Writes the peers' database into the folder. Throws BenchFailure. */
  static async open(folder: string): Promise<Peers> {
    const path = resolve(folder)
    try {
      await access(join(path, 'fixture.mjs'))
    } catch {
      throw new BenchFailure(`\`${folder}\` is no folder of peers: it has no \`fixture.mjs\``)
    }
    try {
      await access(join(path, 'node_modules'))
    } catch {
      throw new BenchFailure(`the peers in \`${folder}\` have no packages; run \`npm run setup\` in a copy of it`)
    }
    const fixture: Fixture = await import(pathToFileURL(join(path, 'fixture.mjs')).href)
    fixture.seedDatabase()
    return new Peers(path, fixture)
  }

  async contender({ name, file, environment, expect }: PeerServer): Promise<Contender> {
    const target = await this.#fixture.target(environment.ALG)
    const command = [process.execPath, join(this.folder, 'peers', `${file}.mjs`)]
    return { name, command, environment, target: { ...target, expect } }
  }

  /** The same objects, asked for with the peers' tokens: their members have the same ids. */
  async tokensFor(target: Target): Promise<Target> {
    const { token, adminToken } = await this.#fixture.target()
    return { ...target, token, adminToken }
  }
}

/** A package that the peers in a folder have. */
export function loadPeerPackage(folder: string, name: string): Promise<unknown> {
  const require = createRequire(join(resolve(folder), 'package.json'))
  return import(pathToFileURL(require.resolve(name)).href)
}
