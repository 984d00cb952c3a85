/**
 * The clients of a scale test, and what each of them asked and was answered. They ask the instances directly, any of
 * them, and repeat what got no definite answer.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, type Operation, PATIENCE_MS, type Wanted } from './ask.ts'
import type { Cluster, Instance } from './cluster.ts'
import { publish, revisionOf } from './office.ts'
import {
  FIRST,
  FLOODER,
  KEEPERS,
  membershipOf,
  PLAN,
  type PolicyKind,
  PROBER,
  PROJECT,
  taskOf,
  WRITERS,
  withoutRole,
} from './world.ts'

/** A right that a user didn't have from the acknowledgement of its removal until somebody asked to give it back. */
export interface Removal {
  readonly user: string
  readonly right: 'membership' | 'role'
  /** Of the operation that took a role away. */
  readonly title?: string
  readonly acknowledgedAt: number
  readonly givenBackAt: number
}

/** A version of the policy, whether or not its publication was acknowledged. */
export interface Published {
  readonly kind: PolicyKind
  readonly revision: string
  /** Infinity if it wasn't. */
  readonly acknowledgedAt: number
}

const DEFINITE = new Set([200, 201, 204, 401, 403, 404])
/** As an answer to the first request, 404 would be wrong; to a repeat, it says that an earlier one was done. */
const DONE = new Set([200, 201, 204, 404])

export class History {
  readonly operations: Operation[] = []
  readonly removals: Removal[] = []
  readonly published: Published[] = [{ kind: 'open', revision: revisionOf('open', FIRST), acknowledgedAt: 0 }]
  readonly #cluster: Cluster
  readonly #tokens: ReadonlyMap<string, string>
  #acknowledged = 1
  #running = true
  #clients: Promise<unknown>[] = []
  readonly #failures: unknown[] = []

  constructor(cluster: Cluster, tokens: ReadonlyMap<string, string>) {
    this.#cluster = cluster
    this.#tokens = tokens
  }

  begin(): void {
    const flooders = this.#cluster.instances.map((instance) => this.#flood(instance))
    const clients = [
      ...WRITERS.map((writer) => this.#write(writer)),
      ...KEEPERS.map((keeper, i) =>
        this.#keep(
          keeper,
          WRITERS.filter((_, at) => at % KEEPERS.length === i),
        ),
      ),
      this.#probe(),
      this.#publish(),
      ...flooders,
    ]
    this.#clients = clients.map((client) => client.catch((error) => this.#failures.push(error)))
  }

  /** Throws if a client got an answer that it can't have. */
  async end(): Promise<void> {
    this.#running = false
    await Promise.all(this.#clients)
    if (this.#failures.length > 0) throw this.#failures[0]
  }

  /** Every writer has written so often since then. */
  hasWritten(since: number, times: number): boolean {
    const good = this.operations.filter(
      ({ kind, status, sentAt }) => kind === 'update' && status < 300 && status > 0 && sentAt > since,
    )
    const byWriter = Map.groupBy(good, ({ client }) => client)
    return WRITERS.every((writer) => (byWriter.get(writer)?.length ?? 0) >= times)
  }

  /** Every writer, and every instance, has done a write that was sent after that time. */
  hasRecovered(since: number): boolean {
    const good = this.operations.filter(
      ({ kind, status, sentAt }) => kind === 'update' && status < 300 && status > 0 && sentAt > since,
    )
    const instances = new Set(good.map(({ instance }) => instance))
    return instances.size === this.#cluster.instances.length && this.hasWritten(since, 1)
  }

  async #write(writer: string): Promise<void> {
    for (let n = 1; this.#running; n += 1) {
      const update = {
        method: 'PATCH',
        path: `/tasks/${taskOf(writer)}`,
        kind: 'update',
        title: `${writer} ${n}`,
      } as const
      await this.#untilDefinite({ ...update, client: writer, body: { title: update.title } })
      const title = `${writer} ${n} new`
      const create = { method: 'POST', path: '/tasks', kind: 'create', title, key: title } as const
      await this.#untilDefinite({ ...create, client: writer, body: { projectId: PROJECT, title } })
      await sleep(20)
    }
  }

  /** Takes rights away and gives them back. */
  async #keep(keeper: string, writers: readonly string[]): Promise<void> {
    const memberships = new Map(writers.map((writer) => [writer, membershipOf(writer)]))
    const change = (method: string, path: string, more: Pick<Wanted, 'title' | 'body' | 'key'> = {}) =>
      this.#untilDone({ client: keeper, kind: 'keep', method, path, ...more })
    const setRoles = (user: string, roles: readonly string[], title: string) =>
      change('PATCH', `/users/${user}`, { title, body: { roles, displayName: title } })
    for (let n = 0; this.#running; n += 1) {
      const user = writers[n % writers.length] as string
      const right = n % (2 * writers.length) < writers.length ? 'membership' : 'role'
      const title = `${withoutRole(user)} ${n}`
      const leave = () => change('DELETE', `/memberships/${memberships.get(user)}`)
      const removed = right === 'membership' ? await leave() : await setRoles(user, [], title)
      await sleep(150)
      const givenBackAt = performance.now()
      if (removed) this.removals.push({ user, right, title, acknowledgedAt: removed.endedAt, givenBackAt })
      if (right === 'role') await setRoles(user, ['member'], `${user} with role ${n}`)
      else {
        const body = { userId: user, projectId: PROJECT }
        const made = await change('POST', '/memberships', { body, key: `${user} ${n}` })
        memberships.set(user, made?.id ?? '')
      }
      await sleep(150)
    }
  }

  async #probe(): Promise<void> {
    for (let n = 0; this.#running; n += 1) {
      const title = `plan ${n}`
      const change = { method: 'PATCH', title, body: { title } }
      const asked = n % 2 === 0 ? { method: 'GET' } : change
      await this.#ask({ client: PROBER, kind: 'probe', path: `/plans/${PLAN}`, ...asked, atLeast: this.#acknowledged })
      await sleep(15)
    }
  }

  async #publish(): Promise<void> {
    let kind: PolicyKind = 'closed'
    for (let n = 1; this.#running; n += 1) {
      const label = `version ${n}`
      const number = await publish(this.#cluster, kind, label).catch(() => undefined)
      const acknowledgedAt = number === undefined ? Number.POSITIVE_INFINITY : performance.now()
      this.published.push({ kind, revision: revisionOf(kind, label), acknowledgedAt })
      if (number !== undefined) {
        this.#acknowledged = Math.max(this.#acknowledged, number)
        kind = kind === 'open' ? 'closed' : 'open'
      }
      await sleep(500)
    }
  }

  async #flood(instance: Instance): Promise<void> {
    while (this.#running) {
      await this.#ask({ client: FLOODER, kind: 'flood', method: 'GET', path: `/plans/${PLAN}` }, instance)
      await sleep(40)
    }
  }

  /** Repeats a request until it is done or refused for good. Undefined if that took too long. */
  async #untilDefinite(wanted: Wanted): Promise<Operation | undefined> {
    for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(50)) {
      const operation = await this.#ask(wanted)
      if (DEFINITE.has(operation.status)) return operation
    }
    return undefined
  }

  /** Undefined if it isn't known whether it was done, when the test ends. Throws for a refusal. */
  async #untilDone(wanted: Wanted): Promise<Operation | undefined> {
    for (let repeats = 0; this.#running || repeats === 0; repeats += 1) {
      const operation = await this.#untilDefinite(wanted)
      if (operation && DONE.has(operation.status)) return operation
      if (operation) throw new Error(`${wanted.method} ${wanted.path} of ${wanted.client}: ${operation.status}`)
    }
    return undefined
  }

  async #ask(wanted: Wanted, instance = this.#anyInstance()): Promise<Operation> {
    const operation = await ask(wanted, instance, this.#tokens.get(wanted.client) ?? '')
    this.operations.push(operation)
    return operation
  }

  #anyInstance(): Instance {
    const { instances } = this.#cluster
    return instances[Math.floor(Math.random() * instances.length)] as Instance
  }
}
