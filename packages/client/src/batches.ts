/** Gathers the questions of one turn of the event loop, so that they become one request, or several of bounded size. */
import type { Decision, Question, Resource, Subject } from './entities.ts'
import { AuthzenError } from './error.ts'

/** Asks the server; both are given questions as JSON, and the milliseconds that are left. */
export interface Asks {
  one(question: string, timeoutMs: number): Promise<Decision>
  /** One result for each question, or an error for all of them. */
  many(questions: readonly string[], timeoutMs: number): Promise<readonly (Decision | AuthzenError)[]>
}

/** A question as JSON, with the properties that it gives of its entities. */
interface Sent {
  readonly question: string
  readonly told?: ReadonlyMap<string, string>
}

interface Waiting extends Sent {
  resolve(decision: Decision): void
  reject(error: unknown): void
}

export interface Bounds {
  readonly most: number
  readonly mostBytes: number
}

/** The whole batch is refused for one question's sake: for its form, or for its size. */
const ONE_SPOILS_ALL: ReadonlySet<unknown> = new Set([400, 413, 422])

/** How many requests of one turn a question may join. */
const LOOK_BACK = 8

const NOTHING: ReadonlyMap<string, string> = new Map()

/** There is no such endpoint. */
const NOT_OFFERED: ReadonlySet<unknown> = new Set([404, 405, 501])

export class Batches {
  readonly #asks: Asks
  readonly #bounds: Bounds
  readonly #timeoutMs: number
  #waiting: Waiting[] = []
  #offered = true

  constructor(asks: Asks, bounds: Bounds, timeoutMs: number) {
    this.#asks = asks
    this.#bounds = bounds
    this.#timeoutMs = timeoutMs
  }

  ask(question: string, asked: Question): Promise<Decision> {
    const told = toldOf(asked)
    return new Promise((resolve, reject) => {
      // What arrives with the same turn of the event loop, of other requests too, goes along.
      if (this.#waiting.length === 0) setImmediate(() => this.#send())
      this.#waiting.push({ question, told, resolve, reject })
    })
  }

  #send(): void {
    const waiting = this.#waiting
    this.#waiting = []
    const bounds = this.#offered ? this.#bounds : { most: 1, mostBytes: 0 }
    for (const part of split(waiting, bounds, LOOK_BACK)) void this.#answer(part)
  }

  /** Never rejects. */
  async #answer(part: readonly Waiting[]): Promise<void> {
    const until = performance.now() + this.#timeoutMs
    const [first] = part
    if (part.length === 1 && first) return this.#answerOne(first, until)
    try {
      const results = await this.#asks.many(
        part.map(({ question }) => question),
        this.#timeoutMs,
      )
      for (const [i, { resolve, reject }] of part.entries()) {
        const result = results[i]
        if (result && 'decision' in result) resolve(result)
        else reject(result)
      }
    } catch (error) {
      if (this.#isFaultOfOne(error)) await Promise.all(part.map((one) => this.#answerOne(one, until)))
      else for (const { reject } of part) reject(error)
    }
  }

  /** In the time that is left. */
  async #answerOne({ question, resolve, reject }: Waiting, until: number): Promise<void> {
    try {
      resolve(await this.#asks.one(question, Math.max(1, until - performance.now())))
    } catch (error) {
      reject(error)
    }
  }

  /** Nothing was decided, so that each question may be asked alone: its neighbours shouldn't fail with it. */
  #isFaultOfOne(error: unknown): boolean {
    if (!(error instanceof AuthzenError)) return false
    if (NOT_OFFERED.has(error.status)) this.#offered = false
    return NOT_OFFERED.has(error.status) || ONE_SPOILS_ALL.has(error.status)
  }
}

interface Part<T> {
  readonly members: T[]
  readonly told: Map<string, string>
  bytes: number
}

/**
 * Into requests of bounded size, where a question may join one of the last `reach` (1: all stay in order). Two that tell
 * different things of one entity never share a request: there is a server that takes the first one's word for both
 * (docs/clients.md, Cerbos).
 */
export function split<T extends Sent>(all: readonly T[], bounds: Bounds, reach = 1): readonly (readonly T[])[] {
  const parts: Part<T>[] = []
  for (const one of all) {
    const bytes = Buffer.byteLength(one.question) + 1
    const told = one.told ?? NOTHING
    const fits = (part: Part<T>) =>
      part.members.length < bounds.most && part.bytes + bytes <= bounds.mostBytes && agree(part.told, told)
    const part = parts.slice(-reach).find(fits) ?? newPart(parts)
    part.members.push(one)
    part.bytes += bytes
    for (const [entity, properties] of told) part.told.set(entity, properties)
  }
  return parts.map(({ members }) => members)
}

function newPart<T>(parts: Part<T>[]): Part<T> {
  const part: Part<T> = { members: [], told: new Map(), bytes: 0 }
  parts.push(part)
  return part
}

function agree(known: ReadonlyMap<string, string>, told: ReadonlyMap<string, string>): boolean {
  return [...told].every(([entity, properties]) => (known.get(entity) ?? properties) === properties)
}

/** What a question tells of its subject and of its resource. */
export function toldOf({ subject, resource }: Partial<Question>): ReadonlyMap<string, string> {
  return new Map([keyed('subject', subject), keyed('resource', resource)])
}

/** The types don't hold in programs without them: whatever is missing is the server's to refuse. */
function keyed(kind: string, entity: Partial<Subject | Resource> | undefined): readonly [string, string] {
  const properties = entity?.properties
  return [JSON.stringify([kind, entity?.type, entity?.id]), properties === undefined ? '' : JSON.stringify(properties)]
}
