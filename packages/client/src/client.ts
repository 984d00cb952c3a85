/** The client: questions in, decisions out, or an AuthzenError. It never turns a fault into a decision. */
import { faultOfItem, obligationsOf, readDecision, readDecisions, readFound, stops } from './answers.ts'
import { Batches, split, toldOf } from './batches.ts'
import { DecisionCache } from './decision-cache.ts'
import { defaultEndpoints, discoverEndpoints, type Endpoints } from './discovery.ts'
import type { Decision, Found, Page, Question, Searched, Searches, Semantic } from './entities.ts'
import { AuthzenError } from './error.ts'
import { type Filter, type FilterOptions, type FilterQuery, readFilter } from './filter.ts'
import { type ClientOptions, readOptions, type Settings } from './options.ts'
import { type Answer, abortedBy, Caller, type CallOptions, isObject, orAborted } from './transport/caller.ts'

export interface BatchCall extends CallOptions {
  readonly semantic?: Semantic | undefined
  /** For what a question leaves out. */
  readonly defaults?: Partial<Question> | undefined
}

export interface FilterCall extends CallOptions, FilterOptions {}

export interface SearchCall extends CallOptions {
  readonly page?: Page | undefined
}

/** Of a batch without a declared size. */
const MOST_QUESTIONS = { most: 50, mostBytes: 65_536 }

const MOST_PAGES = 1000

export class AuthzenClient {
  readonly #settings: Settings
  readonly #caller: Caller
  readonly #endpoints: Endpoints
  readonly #batches: Batches | undefined
  readonly #cache: DecisionCache | undefined
  #waiting = 0

  /** At the standard's own paths. Throws TypeError for options that can't be. */
  constructor(options: ClientOptions)
  /** For `discover`. */
  constructor(options: ClientOptions, endpoints?: Endpoints)
  constructor(options: ClientOptions, endpoints?: Endpoints) {
    this.#settings = readOptions(options)
    const { base, batch, cache, timeoutMs } = this.#settings
    this.#endpoints = endpoints ?? defaultEndpoints(base)
    this.#caller = new Caller(this.#settings)
    this.#cache = cache && new DecisionCache(cache)
    if (batch && this.#endpoints.evaluations) {
      this.#batches = new Batches(
        {
          one: (question, left) => this.#askOne(question, { timeoutMs: left }),
          many: (questions, left) => this.#askMany(questions, left),
        },
        batch,
        timeoutMs,
      )
    }
  }

  /** At the paths of the server's metadata, `/.well-known/authzen-configuration`. Throws TypeError, AuthzenError. */
  static async discover(options: ClientOptions): Promise<AuthzenClient> {
    const settings = readOptions(options)
    const caller = new Caller(settings)
    try {
      return new AuthzenClient(options, await discoverEndpoints(caller, settings))
    } finally {
      caller.close()
    }
  }

  /** Throws AuthzenError when there is no decision. */
  async evaluate(question: Question, options: CallOptions = {}): Promise<Decision> {
    const text = jsonOf(question)
    const cached = this.#cache?.get(text)
    if (cached) return cached
    return this.#bounded(() => this.#evaluate(text, question, options))
  }

  /** True for a permit without obligations, else false; `onFault` is told of faults. */
  async allows(
    question: Question,
    { onFault, ...options }: CallOptions & { readonly onFault?: (error: unknown) => void } = {},
  ): Promise<boolean> {
    try {
      const decision = await this.evaluate(question, options)
      return decision.decision && obligationsOf(decision) === undefined
    } catch (error) {
      onFault?.(error)
      return false
    }
  }

  /** One decision for each question in their order, up to the one that the semantic stops at. Throws AuthzenError. */
  async evaluations(
    questions: readonly Partial<Question>[],
    { semantic = 'execute_all', defaults = {}, ...options }: BatchCall = {},
  ): Promise<readonly Decision[]> {
    const parts = split(
      questions.map((one) => ({ question: jsonOf(one), told: toldOf({ ...defaults, ...one }) })),
      this.#settings.batch ?? MOST_QUESTIONS,
    )
    const ask = (part: readonly { readonly question: string }[]) =>
      this.#bounded(() => this.#askPart(part, semantic, defaults, options))
    if (semantic === 'execute_all') return (await Promise.all(parts.map(ask))).flat()
    const decisions: Decision[] = []
    for (const part of parts) {
      decisions.push(...(await ask(part)))
      if (decisions.some((one) => stops(one, semantic))) break
    }
    return decisions
  }

  /** Which subjects, resources or actions fit? One page; `nextToken` leads to the next. Throws AuthzenError. */
  async search<K extends Searched>(
    kind: K,
    query: Searches[K]['query'],
    { page, ...options }: SearchCall = {},
  ): Promise<Found<Searches[K]['found']>> {
    const asked: Partial<Question> = query as Partial<Question>
    const paged = page && { page: { limit: page.limit, token: page.token } }
    const body = jsonOf(asked, paged)
    const answer = await this.#bounded(() => this.#caller.post(this.#endpoint(kind), body, options))
    return readFound(kind, kind === 'action' ? undefined : asked[kind as 'subject']?.type, answer.body)
  }

  /** All pages, one after the other. Throws AuthzenError, also when the pages don't end. */
  async *searchAll<K extends Searched>(
    kind: K,
    query: Searches[K]['query'],
    { page, ...options }: SearchCall = {},
  ): AsyncGenerator<Searches[K]['found'], void, void> {
    let token = page?.token
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const found = await this.search(kind, query, { ...options, page: { limit: page?.limit, token } })
      yield* found.results
      if (found.nextToken === undefined) return
      token = found.nextToken
    }
    throw new AuthzenError('invalid-answer', `the search has more than ${MOST_PAGES} pages: raise \`limit\``)
  }

  /** Which rows of an own table does the policy allow? Only Sallyport answers this. Throws AuthzenError. */
  async filter(query: FilterQuery, { ucast, sql, ...options }: FilterCall = {}): Promise<Filter> {
    const asked = query as unknown as Partial<Question>
    const body = jsonOf(asked, ucast === undefined && !sql ? {} : { options: { ucast, sql } })
    const answer = await this.#bounded(() => this.#caller.post(this.#endpoint('filter'), body, options))
    return readFilter(answer.body, { ucast, sql })
  }

  /** Ends idle connections. */
  close(): void {
    this.#caller.close()
  }

  async #evaluate(text: string, question: Question, options: CallOptions): Promise<Decision> {
    const begun = this.#cache?.begin()
    const decision = await this.#ask(text, question, options)
    if (begun) this.#cache?.keep(begun, text, decision)
    return decision
  }

  #ask(text: string, question: Question, options: CallOptions): Promise<Decision> {
    const { signal, timeoutMs, requestId } = options
    if (!this.#batches || timeoutMs !== undefined || requestId !== undefined) return this.#askOne(text, options)
    if (signal?.aborted) throw abortedBy(signal)
    const asked = this.#batches.ask(text, question)
    return signal ? orAborted(asked, signal) : asked
  }

  async #askOne(text: string, options: CallOptions): Promise<Decision> {
    const answer = await this.#noting(() => this.#caller.post(this.#endpoint('evaluation'), text, options))
    const decision = readDecision(answer.body)
    const fault = decision.decision ? faultOfItem(decision) : undefined
    if (fault) throw fault
    return decision
  }

  async #askMany(questions: readonly string[], timeoutMs: number): Promise<readonly (Decision | AuthzenError)[]> {
    const body = `{"evaluations":[${questions.join()}]}`
    const answer = await this.#noting(() => this.#caller.post(this.#endpoint('evaluations'), body, { timeoutMs }))
    return readDecisions(answer.body, questions.length, 'execute_all').map((one) => faultOfItem(one) ?? one)
  }

  async #askPart(
    part: readonly { readonly question: string }[],
    semantic: Semantic,
    defaults: Partial<Question>,
    options: CallOptions,
  ): Promise<readonly Decision[]> {
    const top = jsonOf(defaults, { options: { evaluations_semantic: semantic } })
    const body = `${top.slice(0, -1)},"evaluations":[${part.map(({ question }) => question).join()}]}`
    const answer = await this.#noting(() => this.#caller.post(this.#endpoint('evaluations'), body, options))
    return readDecisions(answer.body, part.length, semantic)
  }

  /** Lets the cache know of the policy that answered. */
  async #noting(ask: () => Promise<Answer>): Promise<Answer> {
    const begun = this.#cache?.begin()
    const answer = await ask()
    if (begun) this.#cache?.noteRevision(begun, answer.revision ?? revisionIn(answer))
    return answer
  }

  #endpoint(name: keyof Endpoints): URL {
    const url = this.#endpoints[name]
    if (url) return url
    throw new AuthzenError('not-offered', `the policy decision point offers no endpoint for \`${name}\``)
  }

  async #bounded<T>(ask: () => Promise<T>): Promise<T> {
    const { mostWaiting } = this.#settings
    if (this.#waiting >= mostWaiting) {
      throw new AuthzenError('overloaded', `${mostWaiting} questions wait for an answer already`)
    }
    this.#waiting++
    try {
      return await ask()
    } finally {
      this.#waiting--
    }
  }
}

/** Only what the standard names; nothing else of the caller's objects leaves the process. Throws AuthzenError. */
function jsonOf({ subject, action, resource, context }: Partial<Question>, more: object = {}): string {
  try {
    return JSON.stringify({ subject, action, resource, context, ...more })
  } catch (cause) {
    throw new AuthzenError('not-asked', 'the question is no JSON', { cause })
  }
}

/** Of a decision, or of the first one of a batch. */
function revisionIn({ body }: Answer): string | undefined {
  const [first] = Array.isArray(body.evaluations) ? body.evaluations : [body]
  const context = isObject(first) ? first.context : undefined
  const revision = isObject(context) ? context.revision : undefined
  return typeof revision === 'string' ? revision : undefined
}
