/** `sallyport policy check` in a folder, on the clock of 2026-06-01. */
import { Command, CommanderError } from 'commander'
import { FileError } from '../../../src/base/diagnostic.ts'
import { policyCommand } from '../../../src/cli/policy/policy.ts'
import { ToolError } from '../../../src/tools/load-policy.ts'
import { type Ended, printedBy } from '../../command.ts'
import { settingsOf } from '../../settings.ts'

export async function policyCheck(args: readonly string[], cwd: string): Promise<Ended> {
  const policy = policyCommand(settingsOf({ policies: 'policies', schemas: 'schemas' }), () =>
    Date.parse('2026-06-01T00:00:00Z'),
  )
  for (const command of policy.commands) command.exitOverride()
  const program = new Command('sallyport').addCommand(policy)
  const { error, ...ended } = await printedBy(
    () => program.parseAsync(['policy', 'check', ...args], { from: 'user' }),
    { cwd },
  )
  if (error === undefined) return ended
  if (error instanceof CommanderError) return { ...ended, code: error.exitCode === 0 ? 0 : 2, stderr: error.message }
  if (error instanceof ToolError || error instanceof FileError) {
    return { ...ended, code: 2, stderr: `${ended.stderr}sallyport: ${error.message}\n` }
  }
  throw error
}
