/** Runs `sallyport schema …` as the program would, in this process. */
import { Command } from 'commander'
import { schemaCommand } from '../../src/cli/schema/schema.ts'
import { printedBy } from '../command.ts'
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
  const { code, stdout, error } = await printedBy(() => program.parseAsync(['schema', ...args], { from: 'user' }))
  return error === undefined ? { stdout, code } : { stdout, code: 2, error }
}
