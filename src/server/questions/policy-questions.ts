/** Who answers questions about the policy. */
import type { JsonObject } from '../../resources/schema/schema-file.ts'

export interface PolicyQuestions {
  /** Whether the policy is published in the database. */
  readonly isPublished: boolean
  /** JSON. Throws Problem question-refused, quota-exceeded and read-too-long. */
  /** Server-sent events until the signal aborts. Throws Problem question-refused and quota-exceeded. */
  follow(asked: JsonObject, caller: string, gone: AbortSignal): AsyncIterable<string>
  answer(name: string, asked: JsonObject, caller: string, gone: AbortSignal): Promise<string>
}

/** For servers that only show who may ask: they have neither files nor data of their own to tell of. */
export const UNANSWERED: PolicyQuestions = {
  isPublished: false,
  answer: async () => '{}',
  follow: async function* () {},
}
