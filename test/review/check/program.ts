/** `sallyport policy check` as a program of its own, on the clock of 2026-06-01. */
import { Command, CommanderError } from 'commander'
import { FileError } from '../../../src/base/diagnostic.ts'
import { policyCheckCommand } from '../../../src/cli/policy-check-command.ts'
import { policyCommand } from '../../../src/cli/policy-command.ts'
import { ReviewError } from '../../../src/tools/load-policy.ts'

const check = policyCheckCommand(
  () => ({ policies: 'policies', schemas: 'schemas' }),
  () => new Date('2026-06-01T00:00:00Z'),
).exitOverride()

try {
  await new Command('sallyport').addCommand(policyCommand([check])).parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) process.exitCode = 2
  if (error instanceof ReviewError || error instanceof FileError) process.stderr.write(`sallyport: ${error.message}\n`)
  else if (!(error instanceof CommanderError)) throw error
}
