/** The settings of policy commands, for tests that run a command in their own process. */
import type { Command } from 'commander'
import type { PolicySettings } from '../src/cli/options.ts'
import { policyCommand } from '../src/cli/policy/policy.ts'

const NOWHERE = {
  dataDirectory: '/nowhere',
  database: { engine: 'sqlite', name: '/nowhere/sallyport.db', location: '/nowhere/sallyport.db' } as const,
  decisionLog: { file: undefined },
  policyCandidate: undefined,
  published: { publicKeys: undefined, signingKey: undefined, databaseId: undefined, maxAgeMs: 300_000 },
}

type Given = Pick<ReturnType<PolicySettings>, 'policies' | 'schemas'> & Partial<ReturnType<PolicySettings>>

export function settingsOf(settings: Given): PolicySettings {
  return () => ({ ...NOWHERE, ...settings })
}

/** `sallyport policy NAME`, with these settings in place of the environment. */
export function policyCommandOf(name: string, settings: Given): Command {
  const command = policyCommand(settingsOf(settings)).commands.find((one) => one.name() === name)
  if (!command) throw new Error(`there is no command policy ${name}`)
  return command
}
