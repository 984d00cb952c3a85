/** What is written down of every request: who asked what, how it was decided, and all that it takes to decide it again. */
import type { Facts } from '../decide/evidence.ts'

/** What stands in the place of a masked value. */
export const MASKED = '***'

export interface DecisionRecord {
  /** When the request came: RFC 3339, UTC, milliseconds. */
  readonly time: string
  readonly requestId: string
  readonly revision: string
  readonly method: string
  readonly address?: string | undefined
  /** The path as the schema file writes it. */
  readonly route?: string | undefined
  readonly resource?: string | undefined
  readonly action?: string | undefined
  readonly objectId?: string | undefined
  readonly subject?: string | undefined
  readonly roles?: readonly string[] | undefined
  readonly authentication?: string | undefined
  /** What was shown, where the subject doesn't tell: `key <id>` of an API key, `issuer <URL>` of an OpenID provider's token. */
  readonly credential?: string | undefined
  /** Why a credential was refused. */
  readonly reason?: string | undefined
  readonly outcome: 'allowed' | 'refused' | 'failed'
  /** The code of the problem that was answered (docs/problems.md). */
  readonly problem?: string | undefined
  readonly status: number
  readonly relations?: readonly string[] | undefined
  /** `policy.csv:14`: the lines that the decision rests on. */
  readonly rules?: readonly string[] | undefined
  readonly fieldsRefused?: readonly string[] | undefined
  /** From the request to its answer; of a write, until it is given to the store. */
  readonly microseconds: number
  readonly facts?: Facts | undefined
  /** The outbox's number, of a write: it grows in the order of the commits. */
  readonly write?: number | undefined
}
