/** Runs `sallyport schema …` as the program would, in this process. */
import { ROOT } from '../command.ts'
import { commandRun } from '../settings.ts'

interface Outcome {
  readonly stdout: string
  readonly code: number
  /** What the program would print as one sentence, with exit code 2. */
  readonly error?: Error
}

/** With the shipped policies and schemas as usual folders. */
export async function schemaCommandRun(...args: readonly string[]): Promise<Outcome> {
  const given = { policies: `${ROOT}policies`, schemas: `${ROOT}schemas` }
  const { code, stdout, error } = await commandRun(['schema', ...args], given)
  return error === undefined ? { stdout, code } : { stdout, code: 2, error }
}
