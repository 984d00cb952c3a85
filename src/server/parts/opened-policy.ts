/** The policy that a server follows, and what is needed to open it. */
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import type { LivePolicy, LivePolicyOptions } from '../../policy/live/live-policy.ts'
import type { SourceText } from '../../resources/schema/schema-file.ts'
import type { Comparer } from '../policy-changes/comparer.ts'
import type { AccessRequests } from '../policy-changes/follow-grants.ts'
import type { PolicyChannel } from '../policy-changes/follow-versions.ts'

export interface OpenedPolicy {
  readonly policy: LivePolicy
  /** Undefined for a folder. */
  readonly channel: PolicyChannel | undefined
  /** Why scheduled proposals are not in force, a sentence each; undefined for a policy from a folder. */
  readonly overdue?: () => readonly string[]
  /** Undefined for a policy from a folder. */
  readonly requests?: AccessRequests
  readonly close: () => unknown
}

export interface OpeningParts {
  readonly config: Config
  readonly log: Logger
  readonly now: () => Date
  readonly options: Omit<LivePolicyOptions, 'source'>
  /** The schema files of the resources. */
  readonly schemas: readonly SourceText[]
  /** Of the log too, so that a judged change is compared once. */
  readonly comparer?: Comparer
}
