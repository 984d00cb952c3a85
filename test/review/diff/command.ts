/** Runs `policy diff` as the program would, in this process. */
import { Command } from 'commander'
import { printedBy } from '../../command.ts'
import { policyCommandOf } from '../../settings.ts'
import { POLICIES, SCHEMAS } from './shipped.ts'

export interface Outcome {
  readonly stdout: string
  readonly exitCode: number
  /** What the program would print as one sentence, with exit code 2. */
  readonly error?: unknown
}

export async function policyDiff(...args: readonly string[]): Promise<Outcome> {
  const command = policyCommandOf('diff', { policies: POLICIES, schemas: SCHEMAS }).exitOverride()
  command.configureOutput({ writeErr: () => undefined })
  const program = new Command('sallyport').exitOverride().addCommand(command)
  const { code, stdout, error } = await printedBy(() => program.parseAsync(['diff', ...args], { from: 'user' }))
  return error === undefined ? { stdout, exitCode: code } : { stdout, exitCode: 2, error }
}
