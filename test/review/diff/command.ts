/** Runs `policy diff` as the program would, in this process. */
import { Command } from 'commander'
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
  const { write } = process.stdout
  const written: string[] = []
  process.stdout.write = ((text: string) => written.push(text) > 0) as typeof write
  try {
    await program.parseAsync(['diff', ...args], { from: 'user' })
    return { stdout: written.join(''), exitCode: Number(process.exitCode ?? 0) }
  } catch (error) {
    return { stdout: written.join(''), exitCode: 2, error }
  } finally {
    process.stdout.write = write
    process.exitCode = 0
  }
}
