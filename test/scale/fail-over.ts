/** The primary of Patroni is lost or hangs, again and again, while clients write. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { PatroniCluster, PatroniNode } from '../patroni.ts'
import { isDone } from './ask.ts'
import { type Cluster, until } from './cluster.ts'
import type { History } from './history.ts'

const RECOVERED_WITHIN_MS = 180_000
/** A replica has it when it returns. */
const COMMIT = "select pg_logical_emit_message(true, 'sallyport', 'test')"

const ESTABLISHED = '01'

/** By fault, the milliseconds from the new primary's first commit until each instance has written. */
export async function failOver(cluster: Cluster, history: History, times: number): Promise<readonly number[]> {
  const waits: number[] = []
  const patroni = cluster.patroni as PatroniCluster
  for (let n = 0; n < times; n += 1) {
    await patroni.whole()
    const former = await patroni.primary()
    await until(() => isAt(cluster, former) && !isBeside(cluster, former))
    const heal = n % 2 === 0 ? await lose(former) : hang(former, cluster, history)
    const next = await patroni.primary(former)
    const since = performance.now()
    // The new primary takes writes when a replica follows it.
    await until(async () => (await next.ask(COMMIT, RECOVERED_WITHIN_MS)) !== undefined)
    const committed = performance.now()
    await until(() => history.hasRecovered(since), RECOVERED_WITHIN_MS)
    waits.push(Math.max(0, firstWrites(history, since) - committed))
    await heal(next)
  }
  return waits
}

type Heal = (next: PatroniNode) => Promise<void>

async function lose(node: PatroniNode): Promise<Heal> {
  await node.kill()
  return async () => node.start()
}

/**
 * When it wakes up, it goes on as the primary that it was, beside the new one. Its Patroni doesn't wake up, as a watchdog
 * sees to: Patroni 3.0.2 would take the lock back, and what was written meanwhile would be lost.
 */
function hang(node: PatroniNode, cluster: Cluster, history: History): Heal {
  node.freeze()
  return async (next) => {
    await node.wakeAlone()
    const since = performance.now()
    await until(() => history.hasRecovered(since), RECOVERED_WITHIN_MS)
    await until(() => isAt(cluster, next) && !isBeside(cluster, next))
    await node.kill()
    node.start()
  }
}

/** When the last instance has answered a write that was sent after that time. */
function firstWrites({ operations }: History, since: number): number {
  const written = operations.filter((one) => one.kind === 'update' && isDone(one) && one.sentAt > since)
  const byInstance = Map.groupBy(written, ({ instance }) => instance)
  return Math.max(...[...byInstance.values()].map((all) => Math.min(...all.map(({ endedAt }) => endedAt))))
}

/**
 * Whether an instance has a connection to a node other than the primary. The instances are asked, because a woken server
 * still has connections whose clients have gone.
 */
function isBeside({ instances, patroni }: Cluster, primary: PatroniNode): boolean {
  const others = new Set(patroni?.nodes.filter((node) => node !== primary).map(({ port }) => port))
  return instances.some(({ pid }) => peersOf(pid).some((port) => others.has(port)))
}

/** Whether all instances have. */
function isAt({ instances }: Cluster, primary: PatroniNode): boolean {
  return instances.every(({ pid }) => peersOf(pid).includes(primary.port))
}

/** The ports to which a process has established connections (proc(5), /proc/net/tcp). */
function peersOf(pid: number): readonly number[] {
  const rows = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').trim().split('\n').slice(1)
  const sockets = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => socketAt(`/proc/${pid}/fd/${fd}`)))
  return rows.flatMap((row) => {
    const [, , peer = '', state, , , , , , inode] = row.trim().split(/\s+/)
    return state === ESTABLISHED && sockets.has(`socket:[${inode}]`)
      ? [Number.parseInt(peer.split(':')[1] ?? '', 16)]
      : []
  })
}

/** A descriptor that was closed meanwhile is none. */
function socketAt(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
