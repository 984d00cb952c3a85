/** Commands with the errors that end them, for tests that look at both. */
import type { CommandUnknownOpts } from 'commander'
import { createProgram } from '../src/cli/program.ts'
import { type Ended, printedBy } from './command.ts'

interface Given {
  readonly policies: string
  readonly schemas: string
  /** A file. */
  readonly database?: string
}

/** The environment of a command with these folders, and without a decision log. */
export function environmentOf({ policies, schemas, database = '/nowhere/sallyport.db' }: Given) {
  const place = { DATA_DIR: '/nowhere', DATABASE_URL: `sqlite:${database}`, DECISION_LOG_FILE: '-' }
  return { ...place, POLICIES: policies, SCHEMAS: schemas }
}

/** Runs the words behind `sallyport`; what the program would tell with exit code 2 is an error. */
export function commandRun(
  args: readonly string[],
  given: Given,
): Promise<Ended & { readonly error: Error | undefined }> {
  return printedBy(
    async () => {
      const program = await createProgram(args[0])
      quieten(program)
      await program.parseAsync(args, { from: 'user' })
    },
    { env: environmentOf(given) },
  )
}

function quieten(command: CommandUnknownOpts): void {
  command.configureOutput({ writeErr: () => undefined, outputError: () => undefined })
  for (const one of command.commands) quieten(one)
}
