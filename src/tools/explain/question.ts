/** What explain is asked: who, what, and what is known of the object. Types only. */
import type { Representation, Resources } from '../../resources/resource.ts'
import type { ReviewedPolicy } from '../load-policy.ts'
import type { Asker } from './caller.ts'
import type { Answer } from './explanation.ts'
import type { AskedRoute } from './ground.ts'

/** A request as the server's router matched it; what no route accepts comes with the server's answer. */
export type Asked =
  | ({ readonly kind: 'route' } & AskedRoute)
  | { readonly kind: 'refused'; readonly method: string; readonly answer: Answer; readonly reason: string }

/** What is known of the object: nothing but perhaps its id, its relations because somebody says so, or what a database holds. */
export type About =
  | { readonly kind: 'any'; readonly id: string | undefined }
  | {
      readonly kind: 'relations'
      readonly from: '--relation' | 'the record'
      readonly id: string | undefined
      readonly holding: ReadonlySet<string>
    }
  | {
      readonly kind: 'object'
      readonly id: string
      /** Undefined when there is no such object. */
      readonly object: Representation | undefined
      /** The caller's users record; undefined when there is none. */
      readonly record: Representation | undefined
    }

export interface Question {
  readonly reviewed: ReviewedPolicy
  readonly resources: Resources
  readonly asker: Asker
  /** As it was asked, for the reader. */
  readonly path: string
  readonly asked: Asked
  readonly about: About
  /** Attributes of the caller that a record tells; null for one that the caller didn't have. */
  readonly attributes?: Representation | undefined
  /** The time that it is about, in milliseconds since the epoch: rules and blocks may end. */
  readonly now: number
}
