/**
 * The clients of a scale test, and what each of them asked and was answered. They ask the instances directly, any of
 * them, and repeat what got no definite answer.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster, Instance } from './cluster.ts'
import { publish } from './office.ts'
import { FLOODER, KEEPERS, membershipOf, PLAN, type PolicyKind, PROBER, PROJECT, taskOf, WRITERS } from './world.ts'

/** One request with its answer. Times are milliseconds by the clock of the tests. */
export interface Operation {
  readonly client: string
  readonly instance: string
  readonly kind: 'create' | 'update' | 'probe' | 'flood' | 'keep'
  /** The title that a create or update writes; each is written by one operation and its repeats. */
  readonly title?: string
  readonly sentAt: number
  readonly endedAt: number
  /** 0 without an answer. */
  readonly status: number
  readonly code?: string | undefined
  /** Of a create that was answered. */
  readonly id?: string | undefined
  readonly revision?: string | undefined
  readonly sequence: number
  /** What the client asked for in Policy-Sequence-At-Least. */
  readonly atLeast: number
}

/** A right that a user didn't have from the acknowledgement of its removal until somebody asked to give it back. */
export interface Removal {
  readonly user: string
  readonly right: 'membership' | 'role'
  readonly acknowledgedAt: number
  readonly givenBackAt: number
}

type Wanted = Pick<Operation, 'client' | 'kind' | 'title'> & {
  readonly method: string
  readonly path: string
  readonly body?: object
  readonly key?: string
  readonly atLeast?: number
}

const PATIENCE_MS = 20_000
const DEFINITE = new Set([200, 201, 204, 401, 403, 404])

export class History {
  readonly operations: Operation[] = []
  readonly removals: Removal[] = []
  readonly #cluster: Cluster
  readonly #tokens: ReadonlyMap<string, string>
  #acknowledged = 1
  #running = true
  #clients: Promise<unknown>[] = []

  constructor(cluster: Cluster, tokens: ReadonlyMap<string, string>) {
    this.#cluster = cluster
    this.#tokens = tokens
  }

  begin(): void {
    const flooders = this.#cluster.instances.map((instance) => this.#flood(instance))
    this.#clients = [
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
  }

  async end(): Promise<void> {
    this.#running = false
    await Promise.all(this.#clients)
  }

  /** Every writer has had an answer of 2xx from each instance, to a request sent after this call. */
  hasRecovered(since: number): boolean {
    const good = this.operations.filter(
      ({ kind, status, sentAt }) => kind === 'update' && status < 300 && status > 0 && sentAt > since,
    )
    const pairs = new Set(good.map(({ instance }) => instance))
    return (
      pairs.size === this.#cluster.instances.length && new Set(good.map(({ client }) => client)).size === WRITERS.length
    )
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
    const ask = (method: string, path: string, body?: object, key?: string) =>
      this.#untilDefinite({ client: keeper, kind: 'keep', method, path, ...(body && { body }), ...(key && { key }) })
    for (let n = 0; this.#running; n += 1) {
      const user = writers[n % writers.length] as string
      const right = n % (2 * writers.length) < writers.length ? 'membership' : 'role'
      const remove = () => ask('DELETE', `/memberships/${memberships.get(user)}`)
      const removed = right === 'membership' ? await remove() : await ask('PATCH', `/users/${user}`, { roles: [] })
      await sleep(150)
      const givenBackAt = performance.now()
      if (removed) this.removals.push({ user, right, acknowledgedAt: removed.endedAt, givenBackAt })
      if (right === 'role') await ask('PATCH', `/users/${user}`, { roles: ['member'] })
      else {
        const made = await ask('POST', '/memberships', { userId: user, projectId: PROJECT }, `${user} ${n}`)
        memberships.set(user, made?.id ?? '')
      }
      await sleep(150)
    }
  }

  async #probe(): Promise<void> {
    for (let n = 0; this.#running; n += 1) {
      const change = { method: 'PATCH', body: { title: `${n}` } }
      const asked = n % 2 === 0 ? { method: 'GET' } : change
      await this.#ask({ client: PROBER, kind: 'probe', path: `/plans/${PLAN}`, ...asked, atLeast: this.#acknowledged })
      await sleep(15)
    }
  }

  async #publish(): Promise<void> {
    for (let kind: PolicyKind = 'closed'; this.#running; await sleep(500)) {
      const number = await publish(this.#cluster, kind).catch(() => undefined)
      if (number === undefined) continue
      this.#acknowledged = Math.max(this.#acknowledged, number)
      kind = kind === 'open' ? 'closed' : 'open'
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

  async #ask(wanted: Wanted, instance = this.#anyInstance()): Promise<Operation> {
    const { client, kind, title, atLeast = 0 } = wanted
    const sentAt = performance.now()
    const answer = await this.#fetch(wanted, instance)
    const { headers } = answer
    const operation: Operation = {
      client,
      instance: instance.name,
      kind,
      ...(title === undefined ? {} : { title }),
      sentAt,
      endedAt: performance.now(),
      status: answer.status,
      code: answer.code,
      id: headers?.get('location')?.split('/').at(-1),
      revision: headers?.get('policy-revision') ?? undefined,
      sequence: Number(headers?.get('policy-sequence') ?? 0),
      atLeast,
    }
    this.operations.push(operation)
    return operation
  }

  #anyInstance(): Instance {
    const { instances } = this.#cluster
    return instances[Math.floor(Math.random() * instances.length)] as Instance
  }

  async #fetch({ client, method, path, body, key, atLeast }: Wanted, { url }: Instance) {
    try {
      const answer = await fetch(url + path, {
        method,
        signal: AbortSignal.timeout(PATIENCE_MS),
        headers: {
          authorization: `Bearer ${this.#tokens.get(client)}`,
          ...(body && { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }),
          ...(key && { 'idempotency-key': `"${key}"` }),
          ...(atLeast && { 'policy-sequence-at-least': `${atLeast}` }),
        },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      const code: string | undefined = answer.status >= 400 ? JSON.parse(text).code : undefined
      return { status: answer.status, headers: answer.headers, code }
    } catch {
      return { status: 0, code: undefined, headers: undefined }
    }
  }
}
