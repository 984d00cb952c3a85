/** An expectation that needs several steps, as docs/schemas/matrix-case.schema.json describes it. Types only. */
import type { Place } from '../../../base/diagnostic.ts'
import type { Json, Method } from '../../../resources/resource.ts'
import type { Column } from './expectation.ts'

export interface StepExpected {
  readonly status: number
  readonly view?: string
  readonly fields?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export interface Step {
  /** A name of the case's callers, or `anonymous`. */
  readonly as: string
  readonly method: Method
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Json
  readonly expect: StepExpected
  /** JSON Pointers (RFC 6901) into the answer, by the name that later steps use. */
  readonly save?: Readonly<Record<string, string>>
}

export interface Case {
  readonly name: string
  readonly place: Place
  readonly callers: ReadonlyMap<string, Exclude<Column, { kind: 'anonymous' }>>
  readonly steps: readonly Step[]
}
