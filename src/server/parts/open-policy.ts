/** Opens the policy that POLICIES names, a folder or the versions in the database, and follows its changes. */
import { readingPolicy } from '../../config/start/folders.ts'
import { DATABASE_POLICIES } from '../../identity/keys/published-settings.ts'
import { LivePolicy } from '../../policy/live/live-policy.ts'
import { watchPolicy } from '../../policy/live/watch-policy.ts'
import { policyFolderSource } from '../../policy/policy-source.ts'
import type { OpenedPolicy, OpeningParts } from './opened-policy.ts'

/** Throws FileError, ConfigError or KeyError. */
export async function openPolicy(parts: OpeningParts): Promise<OpenedPolicy> {
  return readingPolicy(parts.config, () => open(parts))
}

async function open(parts: OpeningParts): Promise<OpenedPolicy> {
  const { policies } = parts.config
  if (policies === DATABASE_POLICIES) return (await import('./open-published-policy.ts')).openPublishedPolicy(parts)
  const policy = await LivePolicy.open({ ...parts.options, source: policyFolderSource(policies) })
  return { policy, channel: undefined, close: await watchPolicy(policy, policies) }
}
