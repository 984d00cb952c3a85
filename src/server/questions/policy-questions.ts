/** Who answers questions about the policy. */
import type { JsonObject } from '../../resources/schema/schema-file.ts'

export interface PolicyQuestions {
  /** Whether the policy is published in the database. */
  readonly isPublished: boolean
  /** JSON. Throws Problem question-refused, quota-exceeded and read-too-long. */
  answer(name: string, asked: JsonObject, caller: string, gone: AbortSignal): Promise<string>
}
