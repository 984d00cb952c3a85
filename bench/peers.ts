/** The peers as servers: what people would write by hand or start with, in place of ours (bench/peers/). */
import type { Statements } from './contenders.ts'
import type { Fixtures } from './fixture/fixtures.ts'
import { makePeerData, type PeerData } from './fixture/peer-data.ts'
import { type Shape, type Target, USUAL } from './fixture/shape.ts'
import { peerFile } from './machine/peer-packages.ts'
import type { Contender } from './machine/server.ts'

interface Peer {
  readonly program: string
  readonly environment?: Readonly<Record<string, string>>
  /** The statuses of its six answers (Target). */
  readonly expect: readonly number[]
}

/** Fastify answers 404 to a method that a path doesn't have. */
const CHECKED = [200, 403, 401, 404, 200, 404]

const PEERS = {
  'Fastify, token cache': { program: 'fastify.js', environment: { JWT_CACHE: '1' }, expect: CHECKED },
  Fastify: { program: 'fastify.js', expect: CHECKED },
  'Koa by hand': { program: 'koa.js', expect: CHECKED.with(5, 405) },
  'json-server': { program: 'json-server.js', expect: [200, 200, 200, 404, 200, 404] },
} as const satisfies Readonly<Record<string, Peer>>

export type PeerName = keyof typeof PEERS

export class Peers {
  readonly #data: PeerData

  private constructor(data: PeerData) {
    this.#data = data
  }

  /** Their packages must be there (machine/peer-packages.ts). */
  static async open(fixtures: Fixtures, { notes }: Pick<Shape, 'notes'> = USUAL): Promise<Peers> {
    return new Peers(await makePeerData(await fixtures.scratch(), notes))
  }

  contender(name: PeerName, environment: Readonly<Record<string, string>> = {}): Contender {
    const { program, expect, ...peer }: Peer = PEERS[name]
    return {
      name,
      command: [process.execPath, peerFile(program)],
      environment: { ...this.#data.environment, ...peer.environment, ...environment },
      target: { ...this.#data.target, expect },
      mayFail: true,
    }
  }

  /** Fastify on PostgreSQL, on our own objects. */
  onPostgres(name: string, url: string, { select }: Statements, like: Target): Contender {
    const { token, adminToken } = this.#data.target
    return {
      name,
      command: [process.execPath, peerFile('fastify-postgres.js')],
      environment: { ...this.#data.environment, DATABASE_URL: url, SELECT: select, JWT_CACHE: '1' },
      target: { ...like, token, adminToken, expect: CHECKED },
      mayFail: true,
    }
  }
}
