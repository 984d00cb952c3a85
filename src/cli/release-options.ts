/** The options of the commands that put a policy in force, and what they say together. */
import { type Command, Option } from 'commander'
import { loadResources } from '../resources/load/load-resources.ts'
import type { CarryOut } from '../tools/release/carry-out.ts'
import { homeOf } from '../tools/release/home.ts'
import type { PlanOptions } from '../tools/release/plan.ts'
import type { ReleaseFolders } from './policy-command.ts'

export interface ReleaseOptions {
  readonly policies?: string
  readonly schemas?: string
  readonly reason?: string
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly format: 'text' | 'json'
}

export function withReleaseOptions(command: Command): Command {
  return command
    .option('--policies <dir>', 'the policy files in force (POLICIES, policies)')
    .option('--schemas <dir>', 'schema files (SCHEMAS, schemas)')
    .option('--reason <text>', 'why, for the history')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'look only')
    .addOption(new Option('--format <format>', 'how to tell it').choices(['text', 'json']).default('text'))
}

/** What is planned over, and how it is carried out. Throws ConfigError and FileError. */
export async function readRelease(
  folders: ReleaseFolders,
  options: ReleaseOptions,
): Promise<{ readonly over: PlanOptions; readonly how: Omit<CarryOut, 'kind' | 'of'> }> {
  const { policies, schemas, dataDirectory: data } = { ...folders(), ...options }
  const { reason, yes = false, dryRun = false, format } = options
  const now = new Date()
  return {
    over: { home: await homeOf(policies, data), resources: await loadResources(schemas), now },
    how: { reason, now, yes, dryRun, format },
  }
}
