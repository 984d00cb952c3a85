/** `sallyport policy check` as a program of its own, on the clock of 2026-06-01. */
import { Command, CommanderError } from 'commander'
import { FileError } from '../../../src/base/diagnostic.ts'
import { policyCommand } from '../../../src/cli/policy/policy.ts'
import { ToolError } from '../../../src/tools/load-policy.ts'
import { settingsOf } from '../../settings.ts'

const policy = policyCommand(settingsOf({ policies: 'policies', schemas: 'schemas' }), () =>
  Date.parse('2026-06-01T00:00:00Z'),
)
for (const command of policy.commands) command.exitOverride()

try {
  await new Command('sallyport').addCommand(policy).parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) process.exitCode = 2
  if (error instanceof ToolError || error instanceof FileError) process.stderr.write(`sallyport: ${error.message}\n`)
  else if (!(error instanceof CommanderError)) throw error
}
