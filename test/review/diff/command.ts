/** Runs `policy diff` as the program would, in this process. */
import { commandRun } from '../../settings.ts'
import { POLICIES, SCHEMAS } from './shipped.ts'

export interface Outcome {
  readonly stdout: string
  readonly exitCode: number
  /** What the program would print as one sentence, with exit code 2. */
  readonly error?: unknown
}

export async function policyDiff(...args: readonly string[]): Promise<Outcome> {
  const given = { policies: POLICIES, schemas: SCHEMAS }
  const { code, stdout, error } = await commandRun(['policy', 'diff', ...args], given)
  return error === undefined ? { stdout, exitCode: code } : { stdout, exitCode: 2, error }
}
