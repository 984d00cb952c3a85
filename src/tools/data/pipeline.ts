/** Requests of a command as a caller: the tools send them, and command-server.ts answers them by the server's own stages. */
import type { Policy } from '../../decide/policy.ts'
import type { Json, Resources } from '../../resources/resource.ts'

export interface PipelineRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: Json
  /** For a POST: the same key creates nothing twice in 24 hours. */
  readonly idempotencyKey?: string
  /** The id of the new object, if the policy lets the caller choose. It needs an idempotency key. */
  readonly chosenId?: string
}

export interface PipelineAnswer {
  readonly status: number
  /** The body as JSON; undefined without one. */
  // biome-ignore lint/suspicious/noExplicitAny: its form depends on the route
  readonly body: any
  /** An earlier request with the idempotency key has created the object. */
  readonly replayed: boolean
  readonly location?: string | undefined
}

export interface Pipeline {
  readonly resources: Resources
  readonly policy: Pick<Policy, 'ownership'>
  /** The most objects of one page of a list. */
  readonly pageMost: number
  /** Whether a read of an object could show more than its list does: its rules grant the two differently. */
  readsShowMore(resource: string): boolean
  /** Throws ToolError if the pipeline itself fails. */
  ask(request: PipelineRequest): Promise<PipelineAnswer>
}
