/** What a write is about: its objects and moments. The situations are in write-space.ts. */
import type { ResourceSpace } from '../../../analysis/space.ts'
import type { Operation, Resource, Resources } from '../../../resources/resource.ts'

/** `without`: as after the write, but nothing that relates the caller to an object by other objects has changed. */
export type Moment = 'old' | 'proposed' | 'new' | 'without'

export type AskedMoment = Exclude<Moment, 'without'>

/** An object of these situations. */
export interface Place {
  readonly resource: Resource
  readonly space: ResourceSpace
}

export interface WriteAround {
  readonly operation: Operation
  readonly written: Place
  /** The others: each can lead to each. */
  readonly others: readonly Place[]
  readonly resources: Resources
}
