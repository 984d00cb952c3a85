/** Statements of a pool that wait for their answer end together when the server answers nobody. */
import type { Duplex } from 'node:stream'
import type pg from 'pg'

const LOOK_MS = 800

/** `answersOthers`: whether the server answers other connections; never rejects. */
export function endWhenLost(pool: pg.Pool, answersOthers: () => Promise<boolean>): NodeJS.Timeout {
  /** By connection in use, how often somebody has looked since it was taken. */
  const looks = new Map<pg.PoolClient, number>()
  pool.on('acquire', (client) => looks.set(client, 0))
  pool.on('release', (_, client) => looks.delete(client))
  let isAsking = false

  async function look(): Promise<void> {
    for (const [client, before] of looks) looks.set(client, before + 1)
    if (isAsking || waiting().length === 0) return
    isAsking = true
    const isLost = !(await answersOthers())
    isAsking = false
    if (isLost) for (const client of waiting()) streamOf(client).destroy()
  }

  /** Those that were in use at two looks already. */
  function waiting(): readonly pg.PoolClient[] {
    return [...looks].filter(([, times]) => times > 1).map(([client]) => client)
  }

  return setInterval(() => void look(), LOOK_MS).unref()
}

function streamOf(client: pg.PoolClient): Duplex {
  return (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream
}
