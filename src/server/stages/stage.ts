/** A stage is Koa middleware. Its type says what it reads from `ctx.state` and what it leaves there. */
import type Koa from 'koa'
import type { Middleware, Next, ParameterizedContext } from 'koa'

/** The stage sets every member of `Leaves` in `ctx.state` before it calls `next`. */
export interface Stage<Reads extends object, Leaves extends object = object> {
  (ctx: StageContext<Reads & Writable<Leaves>>, next: Next): unknown
  /** Exists only in the type; no stage has it at run time. */
  readonly leaves?: Leaves
}

type StageContext<State extends object> = ParameterizedContext<State>

export type Writable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Koa's `use`, for stages. A stage that reads something that no earlier stage leaves doesn't compile
 * (test/stage-types.test.ts).
 */
export class Stages<State extends object = object> {
  readonly #app: Koa

  constructor(app: Koa) {
    this.#app = app
  }

  use<Leaves extends object>(stage: Stage<State, Leaves>): Stages<State & Leaves> {
    this.#app.use(stage as Middleware)
    return this as unknown as Stages<State & Leaves>
  }
}
