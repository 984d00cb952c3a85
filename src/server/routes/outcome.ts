/** What a handler hands to the stage that presents it. */

import type { Evidence } from '../../decide/evidence.ts'
import type { Json } from '../../resources/resource.ts'

export interface Outcome {
  readonly status: 200 | 201 | 204 | 301 | 302 | 304 | 307 | 308
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for an answer without a body. */
  readonly body: Json | WrittenJson | undefined
  /** What a write rested on, where that is known only now. */
  readonly evidence?: Evidence
  /** The object that was made. */
  readonly objectId?: string
}

/** JSON that was turned into text once, for all its readers. */
export class WrittenJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
