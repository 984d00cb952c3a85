/** Runs `sallyport schema …` as the program would, in this process. */
import { Command } from 'commander'
import { schemaCommand } from '../../src/cli/schema/schema.ts'
import { settingsOf } from '../settings.ts'

const ROOT = new URL('../..', import.meta.url).pathname

interface Outcome {
  readonly stdout: string
  readonly code: number
  /** What the program would print as one sentence, with exit code 2. */
  readonly error?: Error
}

/** With the shipped policies and schemas as usual folders. */
export async function schemaCommandRun(...args: readonly string[]): Promise<Outcome> {
  const schema = schemaCommand(settingsOf({ policies: `${ROOT}policies`, schemas: `${ROOT}schemas` }))
  for (const command of [schema, ...schema.commands]) {
    command.exitOverride().configureOutput({ writeErr: () => undefined })
  }
  const program = new Command('sallyport').exitOverride().addCommand(schema)
  const { write } = process.stdout
  const written: string[] = []
  process.stdout.write = ((text: string) => written.push(text) > 0) as typeof write
  try {
    await program.parseAsync(['schema', ...args], { from: 'user' })
    return { stdout: written.join(''), code: Number(process.exitCode ?? 0) }
  } catch (error) {
    return { stdout: written.join(''), code: 2, error: error as Error }
  } finally {
    process.stdout.write = write
    process.exitCode = 0
  }
}
